// The prelude's text. Its functions call no other function, so that a file may declare one of the same name without changing the rest.
#include "lang/lang.hpp"

namespace fathom::lang {

std::string_view prelude() {
  static constexpr std::string_view text =
      R"(# The prelude: functions in scope of every file. A file that declares one of these names hides it.

# Shares of exp(x) over j. A row that is -inf throughout is 0; +inf or NaN in a row makes the row NaN.
fn softmax[j](x) = where(m == -inf, 0, e / sum[j](e)) with m = max[j](x), e = exp(x - m)

# log(sum[j](exp(x))). A row that is -inf throughout, or empty, gives -inf; one with +inf gives +inf; NaN gives NaN.
fn logsumexp[j](x) = where(abs(m) == inf, m, m + log(l)) with m = max[j](x), l = sum[j](exp(x - m))

# log(softmax). A row that is -inf throughout gives -inf.
fn logsoftmax[j](x) = where(m == -inf, -inf, x - m - log(l)) with m = max[j](x), l = sum[j](exp(x - m))

fn mean[j](x) = sum[j](x) / size(j)
fn variance[j](x) = sum[j]((x - mu) ^ 2) / size(j) with mu = sum[j](x) / size(j)

# Normalisations, without weights: multiply and add them where the function is called.
fn rmsnorm[j](x, eps) = x * rsqrt(ms + eps) with ms = sum[j](x ^ 2) / size(j)
fn layernorm[j](x, eps) = (x - mu) * rsqrt(var + eps) with mu = sum[j](x) / size(j), var = sum[j]((x - mu) ^ 2) / size(j)
fn l2norm[j](x, eps) = x * rsqrt(sum[j](x ^ 2) + eps)

# Activations. gelu is the exact one, gelu_tanh the usual approximation.
fn relu(x) = max(x, 0)
fn leaky_relu(x, slope) = where(x > 0, x, slope * x)
fn gelu(x) = 0.5 * x * (1 + erf(x / sqrt(2)))
fn gelu_tanh(x) = 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x ^ 3)))
fn silu(x) = x * sigmoid(x)
fn softplus(x) = max(x, 0) + log(1 + exp(-abs(x)))
fn elu(x, alpha) = where(x > 0, x, alpha * (exp(min(x, 0)) - 1))
fn softcap(x, cap) = cap * tanh(x / cap)
fn clamp(x, lo, hi) = min(max(x, lo), hi)
)";
  return text;
}

}  // namespace fathom::lang
