"""Built-in machines (`http`, `command`, webhooks), and `egress`, the only module that makes outgoing calls."""
