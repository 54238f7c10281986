// Exact rational arithmetic in 64 bits. Every intermediate is held in 128 bits; what does not fit back is reported as nullopt.
#include "ir/rational.hpp"

#include <limits>

namespace fathom {
namespace {

__extension__ typedef __int128 Wide;

constexpr Wide most = std::numeric_limits<std::int64_t>::max();

Wide absolute(Wide x) { return x < 0 ? -x : x; }

Wide gcd(Wide a, Wide b) {
  a = absolute(a);
  b = absolute(b);
  while (b != 0) {
    const Wide rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/// Lowest terms with a positive denominator. The most negative integer is left out, so that negation never overflows.
std::optional<Rational> reduced(Wide num, Wide den) {
  if (den == 0) return std::nullopt;
  if (den < 0) {
    num = -num;
    den = -den;
  }
  const Wide divisor = gcd(num, den);
  num /= divisor;
  den /= divisor;
  if (absolute(num) > most || den > most) return std::nullopt;
  return Rational::make(static_cast<std::int64_t>(num), static_cast<std::int64_t>(den));
}

/// How often `factor` divides `value`; value is divided by it.
int take_out(std::int64_t& value, std::int64_t factor) {
  int count = 0;
  while (value % factor == 0) {
    value /= factor;
    ++count;
  }
  return count;
}

/// value = digits * 10^-places, exactly; nullopt where that takes more than 17 digits.
struct Decimal {
  std::string digits;
  int places;
};
std::optional<Decimal> decimal_of(std::int64_t num, std::int64_t den) {
  const int twos = take_out(den, 2);
  const int fives = take_out(den, 5);
  if (den != 1) return std::nullopt;
  const int places = twos > fives ? twos : fives;
  Wide scaled = absolute(num);
  const Wide limit = 100'000'000'000'000'000;  // 10^17
  for (int i = 0; i < places - twos; ++i) {
    scaled *= 2;
    if (scaled >= limit) return std::nullopt;
  }
  for (int i = 0; i < places - fives; ++i) {
    scaled *= 5;
    if (scaled >= limit) return std::nullopt;
  }
  return Decimal{std::to_string(static_cast<std::int64_t>(scaled)), places};
}

}  // namespace

std::optional<Rational> Rational::make(std::int64_t num, std::int64_t den) {
  if (den == 0) return std::nullopt;
  const Wide divisor = gcd(num, den);
  Wide n = num / divisor;
  Wide d = den / divisor;
  if (d < 0) {
    n = -n;
    d = -d;
  }
  if (absolute(n) > most || d > most) return std::nullopt;
  Rational result;
  result.num_ = static_cast<std::int64_t>(n);
  result.den_ = static_cast<std::int64_t>(d);
  return result;
}

std::optional<Rational> Rational::parse(std::string_view text) {
  std::size_t at = 0;
  const auto is_digit = [&] { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
  const bool negative = !text.empty() && text[0] == '-';
  if (negative) ++at;
  Wide mantissa = 0;
  int zeros = 0;  // trailing zeros of the mantissa, held back so that 1000e-3 and long literals of zeros fit
  long exponent = 0;
  bool any = false;
  const auto digit = [&] {
    any = true;
    if (text[at] == '0') {
      ++zeros;
      return true;
    }
    for (; zeros > 0 && mantissa != 0; --zeros) {
      mantissa *= 10;
      if (mantissa > most) return false;
    }
    zeros = 0;
    mantissa = mantissa * 10 + (text[at] - '0');
    return mantissa <= most;
  };
  for (; is_digit(); ++at)
    if (!digit()) return std::nullopt;
  if (at < text.size() && text[at] == '.')
    for (++at; is_digit(); ++at) {
      if (!digit()) return std::nullopt;
      --exponent;
    }
  if (!any) return std::nullopt;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    const bool below = at < text.size() && text[at] == '-';
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    if (!is_digit()) return std::nullopt;
    long written = 0;
    for (; is_digit(); ++at) written = written < 100000 ? written * 10 + (text[at] - '0') : written;
    exponent += below ? -written : written;
  }
  if (at != text.size()) return std::nullopt;
  if (mantissa == 0) return Rational();
  exponent += zeros;
  Wide num = negative ? -mantissa : mantissa;
  Wide den = 1;
  for (; exponent > 0; --exponent) {
    num *= 10;
    if (absolute(num) > most) return std::nullopt;
  }
  for (; exponent < 0; ++exponent) {
    if (num % 10 == 0) {
      num /= 10;
    } else if (num % 5 == 0) {
      num /= 5;
      den *= 2;
    } else if (num % 2 == 0) {
      num /= 2;
      den *= 5;
    } else {
      den *= 10;
    }
    if (den > most) return std::nullopt;
  }
  return reduced(num, den);
}

std::string Rational::text() const {
  const std::string sign_text = num_ < 0 ? "-" : "";
  if (den_ == 1) return std::to_string(num_);
  const std::optional<Decimal> decimal = decimal_of(num_, den_);
  if (!decimal) return std::to_string(num_) + "/" + std::to_string(den_);
  const std::string& digits = decimal->digits;
  const int whole = static_cast<int>(digits.size()) - decimal->places;  // digits before the point
  if (whole > 0)
    return sign_text + digits.substr(0, static_cast<std::size_t>(whole)) + "." + digits.substr(static_cast<std::size_t>(whole));
  if (whole > -5) return sign_text + "0." + std::string(static_cast<std::size_t>(-whole), '0') + digits;
  const std::string fraction = digits.size() > 1 ? "." + digits.substr(1) : "";
  return sign_text + digits.substr(0, 1) + fraction + "e-" + std::to_string(1 - whole);
}

std::optional<Rational> add(Rational a, Rational b) {
  return reduced(Wide{a.num()} * b.den() + Wide{b.num()} * a.den(), Wide{a.den()} * b.den());
}

std::optional<Rational> subtract(Rational a, Rational b) {
  return reduced(Wide{a.num()} * b.den() - Wide{b.num()} * a.den(), Wide{a.den()} * b.den());
}

std::optional<Rational> multiply(Rational a, Rational b) { return reduced(Wide{a.num()} * b.num(), Wide{a.den()} * b.den()); }

std::optional<Rational> divide(Rational a, Rational b) { return reduced(Wide{a.num()} * b.den(), Wide{a.den()} * b.num()); }

std::optional<Rational> power(Rational base, std::int64_t exponent) {
  if (base == Rational(1) || exponent == 0) return Rational(1);
  if (base == Rational(0)) return exponent > 0 ? std::optional(Rational(0)) : std::nullopt;
  if (base == Rational(-1)) return exponent % 2 == 0 ? Rational(1) : Rational(-1);
  if (exponent > 63 || exponent < -63) return std::nullopt;  // |num| or den is at least 2
  Rational result = 1;
  for (std::int64_t i = 0; i < (exponent < 0 ? -exponent : exponent); ++i) {
    const std::optional<Rational> next = multiply(result, base);
    if (!next) return std::nullopt;
    result = *next;
  }
  return exponent < 0 ? divide(Rational(1), result) : std::optional(result);
}

std::strong_ordering operator<=>(const Rational& a, const Rational& b) {
  const Wide left = Wide{a.num()} * b.den();
  const Wide right = Wide{b.num()} * a.den();
  return left < right ? std::strong_ordering::less : left > right ? std::strong_ordering::greater : std::strong_ordering::equal;
}

}  // namespace fathom
