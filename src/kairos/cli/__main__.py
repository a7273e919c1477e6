"""`python -m kairos.cli` is `kairos`."""

from kairos.cli import main

main()
