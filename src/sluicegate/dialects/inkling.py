"""Inkling: frames of typed content, each behind the name of who speaks; a call is a JSON object in such a frame.

    <|message_model|><|content_text|>Let me look.<|end_message|>
    <|message_model|>get_weather<|content_invoke_tool_json|>{"name":"get_weather","args":{"city":"Oslo"}}<|end_message|>
    <|content_model_end_sampling|>

(without the line breaks). The text behind `<|message_model|>` is the frame's header; it may stand without that marker.
Source: the chat template of the Inkling checkpoints.
"""

from typing import Final

from sluicegate.core.blocks import Opener
from sluicegate.core.call_object import CallObject
from sluicegate.core.payload import Payload

MESSAGE: Final = "<|message_model|>"
CALL, TEXT_CALL = "<|content_invoke_tool_json|>", "<|content_invoke_tool_text|>"
CONTENT: Final = ("<|content_text|>", "<|content_thinking|>")
ENDS: Final = ("<|end_message|>", "<|content_model_end_sampling|>")

INKLING = Payload(
    names=("inkling",),
    openers=(
        Opener(literal=CALL, bare_header=True),
        Opener(literal=TEXT_CALL, problem="a call in text mode has no readable arguments"),
    ),
    headed=(MESSAGE,),
    wrappers=(*CONTENT, *ENDS),
    bare_header_behind=ENDS,
    closing_stops=ENDS,
    opening_stops=(MESSAGE, *CONTENT),
    unstopped_is_cut=True,
    call_object=CallObject(
        argument_keys=("args",),
        without_arguments="never",
        name_first=False,
        object_arguments=True,
        last_name_counts=True,
    ),
    ends_behind_json=ENDS,
    resume_at="token",
)
