"""The table of the public names of the crate sees what came, went and changed."""

from __future__ import annotations

from rust_names import declarations, faults, items, missing_lines, parsed, read, written

OVERVIEW = """<h3 id="structs">Structs</h3><ul class="all-items">
<li><a href="struct.Rows.html">Rows</a></li><li><a href="inference/struct.Band.html">inference::Band</a></li></ul>"""

PAGE = """<pre class="rust item-decl"><code>#[non_exhaustive]<div class="code-attribute"></div>
pub struct <a href="#">Rows</a>&lt;'a&gt; {
    pub p: &amp;'a [<a href="f64">f64</a>], /* private fields */
}</code></pre><br>
<div id="implementations-list"><details><section id="impl-Rows" class="impl"><h3 class="code-header">impl Rows</h3>
</section><section id="method.len" class="method"><a class="anchor">§</a>
<h4 class="code-header">pub fn <a>len</a>(&amp;self) -&gt; <a>usize</a></h4></section></details></div>
<div id="trait-implementations-list"><section id="impl-Clone-for-Rows" class="impl">
<h3 class="code-header">impl Clone for Rows</h3></section>
<section id="method.clone" class="method"><h4 class="code-header">fn clone(&amp;self)</h4></section></div>"""


def test_names_and_declarations_are_read_from_the_pages() -> None:
    assert items(parsed(OVERVIEW)) == [
        ("calipers::Rows", "struct.Rows.html"),
        ("calipers::inference::Band", "inference/struct.Band.html"),
    ]
    assert dict(declarations("calipers::Rows", parsed(PAGE))) == {
        "calipers::Rows": "#[non_exhaustive] pub struct Rows<'a> { pub p: &'a [f64], }",
        "calipers::Rows len": "pub fn len(&self) -> usize",
        "calipers::Rows impl Clone for Rows": "",
    }


def test_a_change_is_a_fault_and_another_rust_compares_names_alone() -> None:
    kept = {"calipers::A": "pub struct A;", "calipers::B": "pub struct B;", "calipers::A impl Clone for A": ""}
    table = {"calipers::A": "pub enum A {}", "calipers::C": ""}
    lines = faults(table, kept, same_version=True)
    assert lines[:3] == ["new: calipers::C", "gone: calipers::B", "gone: calipers::A impl Clone for A"]
    assert lines[3].startswith("changed: calipers::A") and len(lines) == 4
    assert faults(table, kept, same_version=False) == lines[:2]


def test_a_new_item_needs_a_line_in_the_changelog() -> None:
    came = {"calipers::LsEce", "calipers::New", "calipers::New fn_of_it", "calipers::New impl Clone for New"}
    written = "## Unreleased\n\n`LsEceSampled` and `LsEce`"
    assert missing_lines(came, written) == ["calipers::New"]
    member = "calipers::Sketch subtract"
    assert missing_lines({member, "calipers::Sketch impl Sub for Sketch"}, written) == [member]
    assert missing_lines({member}, "## Unreleased\n\n`Sketch::subtract`") == []


def test_the_table_is_read_as_it_was_written() -> None:
    table = {"calipers::A": "pub struct A;", "calipers::A impl Clone for A": ""}
    assert read(written(table, "rustdoc 1.95.0")) == (table, "rustdoc 1.95.0")
