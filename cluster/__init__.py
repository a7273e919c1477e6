"""A highly available Postgres with Kairos on it, every part on a host of its own, and faults to try.

Hosts are network namespaces: see `hosts.py`. Run `./kairos cluster`, or read docs/operate/cluster.md.
"""
