"""How many requests are in progress at once, and how much each tenant may have of it.

`limiter` and `scheduler` are the two pools that a `ticket` asks for a place; both are told the time and never wait.
`gate` is the way into a pool for asynchronous code. `tenants` has the limits per minute, `files` the YAML files.
"""
