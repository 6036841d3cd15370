"""Where float64 is computed: Apple's GPUs have none."""

from torch import Tensor

WITHOUT_FLOAT64 = {"mps"}


def _in_float64(x: Tensor) -> Tensor:
    """The numbers in float64, on their own device if it has that, otherwise on the CPU."""
    return x.cpu().double() if x.device.type in WITHOUT_FLOAT64 else x.double()
