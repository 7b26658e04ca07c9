"""Run every kernel of the library once, small; tools that watch a process are pointed at this."""

import torch

from tilec import kernels


def main() -> None:
    def tensor(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)

    x = tensor(37, 331)
    kernels.add(torch.empty_like(x), x, x.clone())
    kernels.softmax(torch.empty_like(x), x)
    kernels.layernorm(torch.empty_like(x), x, tensor(331), tensor(331))
    kernels.rmsnorm(torch.empty_like(x), x, tensor(331))
    kernels.transpose(tensor(331, 37), x)
    kernels.row_sum(tensor(37), x)
    kernels.column_sum(tensor(331), x)
    kernels.matmul(tensor(37, 65), x, tensor(331, 65))
    kernels.matmul(tensor(3, 37, 65), tensor(3, 37, 331), tensor(3, 331, 65))
    shapes = [(37, 65, 331), (200, 136, 72), (1, 128, 8)]  # of which the first goes by threads
    products = [(tensor(m, n), tensor(m, k), tensor(k, n)) for m, n, k in shapes]
    kernels.grouped_matmul(products)
    kernels.grouped_matmul(products[1:])
    kernels.linear(tensor(37, 65), x, tensor(331, 65), tensor(65), activation="gelu")
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
