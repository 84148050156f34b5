"""The five gRPC services that serve a tokenizer, and what their `GetModelInfo` says.

Source of the format: the protos of the package `smg-grpc-proto`, which is imported when the first worker is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True, slots=True)
class Runtime:
    """One inference engine as seen through gRPC."""

    name: str
    service: str
    """Full name of the gRPC service."""
    module: str
    """Stem of the generated modules, `<module>_pb2` and `<module>_pb2_grpc`."""

    @property
    def messages(self) -> Any:
        """The generated message module. Raises `ModuleNotFoundError` without the extra `grpc`."""
        return import_module(f"smg_grpc_proto.generated.{self.module}_pb2")

    def stub(self, channel: Any) -> Any:
        """A client of the service over `channel` (`grpc.Channel`)."""
        services = import_module(f"smg_grpc_proto.generated.{self.module}_pb2_grpc")
        return getattr(services, f"{self.service.rpartition('.')[2]}Stub")(channel)


RUNTIMES = (
    Runtime("tokenspeed", "tokenspeed.grpc.scheduler.TokenSpeedScheduler", "tokenspeed_scheduler"),
    Runtime("mlx", "mlx.grpc.engine.MlxEngine", "mlx_engine"),
    Runtime("trtllm", "trtllm.TrtllmService", "trtllm_service"),
    Runtime("vllm", "vllm.grpc.engine.VllmEngine", "vllm_engine"),
    Runtime("sglang", "sglang.grpc.scheduler.SglangScheduler", "sglang_scheduler"),
)
"""In the order in which they are preferred, should a worker answer for more than one."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What a worker says about its model; an empty text is a value the worker does not give."""

    served_model_name: str = ""
    model_path: str = ""
    tokenizer_path: str = ""

    @classmethod
    def from_message(cls, message: Any) -> ModelInfo:
        """Read a `GetModelInfoResponse` of any runtime (some lack a member, TensorRT-LLM has none of the three)."""
        return cls(
            served_model_name=str(getattr(message, "served_model_name", "")),
            model_path=str(getattr(message, "model_path", "")),
            tokenizer_path=str(getattr(message, "tokenizer_path", "")),
        )
