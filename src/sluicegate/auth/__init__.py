"""Who may call the service.

`policy` is the decision table, `keys` and `bearer` say what a request presents, `jwt`, `jwks` and `fetch` verify
tokens, `guard` puts them together, `audit` writes down what it said, `tenant` names whom a request counts for.
"""
