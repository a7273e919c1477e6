"""Workers killed and frozen in the middle of their steps, connections cut, and a checker that believes none of them.

`./kairos chaos --seed 1` runs it; `--mutant` breaks the engine on purpose, and must be found out.
"""
