"""What a Linux binary needs from the machine that runs it."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

GLIBC = re.compile(r"^GLIBC_(\d+)\.(\d+)")


@dataclass(frozen=True)
class Needs:
    """The dynamic linker and the shared libraries of a binary, and the newest glibc that it asks for."""

    linker: str | None
    libraries: tuple[str, ...]
    glibc: tuple[int, int] | None

    @property
    def is_static(self) -> bool:
        """Does it run without any other file?"""
        return self.linker is None and not self.libraries


def needs(binary: bytes) -> Needs:
    """Read it from the headers."""
    elf = ELFFile(io.BytesIO(binary))
    linker = [part.get_interp_name() for part in elf.iter_segments() if part["p_type"] == "PT_INTERP"]
    tags = [tag for part in elf.iter_sections() if isinstance(part, DynamicSection) for tag in part.iter_tags()]
    libraries = tuple(tag.needed for tag in tags if tag.entry.d_tag == "DT_NEEDED")
    versions = [
        version.name
        for section in elf.iter_sections()
        if isinstance(section, GNUVerNeedSection)
        for _, of_library in section.iter_versions()
        for version in of_library
    ]
    glibc = [(int(found[1]), int(found[2])) for found in map(GLIBC.match, versions) if found]
    return Needs(linker[0] if linker else None, libraries, max(glibc, default=None))
