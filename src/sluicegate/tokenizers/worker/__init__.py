"""gRPC workers as a source of tokenizers.

`client` asks a worker, `bundle` receives and unpacks what it sends, `runtimes` is the table of the engines. Importing
this package needs nothing beyond the standard library; `client` needs the extra `grpc`.
"""
