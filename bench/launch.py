"""Run a command, print its seconds, CPU seconds and largest resident set in KiB as JSON, then its output.

This is a separate script with few imports, because on Linux a child starts with the peak of the process that it
was forked from.
"""

import json
import os
import subprocess
import sys
import time


def main() -> None:
    start = time.perf_counter()
    child = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)
    assert child.stdout is not None
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    fields = {"seconds": seconds, "cpu_seconds": usage.ru_utime + usage.ru_stime, "peak_kib": usage.ru_maxrss}
    print(json.dumps({**fields, "exit_code": child.returncode}))
    sys.stdout.write(output.decode())


if __name__ == "__main__":
    main()
