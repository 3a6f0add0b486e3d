/**
 * The text of a float, as `tostring` and `..` produce it. It is C's `%.14g` with `.0` for whole numbers, except that
 * whole numbers outside 32 bits, which are integers in the other engine, are written with all their digits.
 */
export function floatText(value: number): string {
  if (Number.isSafeInteger(value) && !Object.is(value, -0) && (value | 0) !== value) return String(value)
  const text = shortest(value, { precision: 14, keepsZeros: false })
  return /^-?\d+$/.test(text) ? `${text}.0` : text
}

/** C's `%g` without a width; NaN is `nan` or `-nan` as on common machines. */
export function shortest(
  value: number,
  { precision, keepsZeros }: { readonly precision: number; readonly keepsZeros: boolean },
): string {
  if (!Number.isFinite(value)) return notFinite(value)
  const digits = Math.max(precision, 1)
  const sign = signOf(value)
  const size = Math.abs(value)
  const exponent = size === 0 ? 0 : Number(size.toExponential(digits - 1).split('e')[1])
  if (exponent < -4 || exponent >= digits) {
    const [mantissa, power] = exponential(size, digits - 1)
    return `${sign}${keepsZeros ? mantissa : withoutZeros(mantissa)}e${exponentText(power)}`
  }
  const text = fixed(size, digits - 1 - exponent)
  return sign + (keepsZeros ? text : withoutZeros(text))
}

/** C's `%e`: the exponent has at least two digits. */
export function scientific(value: number, precision: number): string {
  if (!Number.isFinite(value)) return notFinite(value)
  const [mantissa, power] = exponential(Math.abs(value), precision)
  return `${signOf(value)}${mantissa}e${exponentText(power)}`
}

/** C's `%f`, also for numbers that JavaScript writes with an exponent. */
export function fixed(value: number, precision: number): string {
  if (!Number.isFinite(value)) return notFinite(value)
  const sign = signOf(value)
  const size = Math.abs(value)
  if (size < 1e21) return sign + decimal(size, precision)
  const zeros = precision === 0 ? '' : `.${'0'.repeat(precision)}`
  return `${sign}${BigInt(size)}${zeros}`
}

/** C's `%a`: a hexadecimal fraction with a power of two. */
export function hexadecimal(value: number): string {
  if (!Number.isFinite(value)) return notFinite(value)
  const sign = signOf(value)
  if (value === 0) return `${sign}0x0p+0`
  const bits = new DataView(new ArrayBuffer(8))
  bits.setFloat64(0, Math.abs(value))
  const stored = bits.getUint32(0) >>> 20
  const fraction = (bits.getBigUint64(0) & 0xf_ff_ff_ff_ff_ff_ffn).toString(16).padStart(13, '0').replace(/0+$/, '')
  const power = stored === 0 ? -1022 : stored - 1023
  return `${sign}0x${stored === 0 ? 0 : 1}${fraction === '' ? '' : `.${fraction}`}p${power < 0 ? '-' : '+'}${Math.abs(power)}`
}

/** The most digits JavaScript provides; enough to see whether a number lies exactly between two shorter ones. */
const allDigits = 100

/** `toFixed`, but a number exactly between two is rounded to the even digit, as in C. */
function decimal(size: number, precision: number): string {
  const rounded = size.toFixed(precision)
  if (precision >= allDigits || !size.toFixed(precision + 1).endsWith('5')) return rounded
  const exact = size.toFixed(allDigits)
  return halfToEven(exact, { cut: exact.indexOf('.') + 1 + precision, rounded })
}

/** `toExponential` with the same rounding, as mantissa and power. */
function exponential(size: number, precision: number): readonly [string, string] {
  const [rounded = '', power = ''] = size.toExponential(precision).split('e')
  if (precision >= allDigits || !size.toExponential(precision + 1).includes('5e')) return [rounded, power]
  const exact = size.toExponential(allDigits)
  return [halfToEven(exact.slice(0, exact.indexOf('e')), { cut: exact.indexOf('.') + 1 + precision, rounded }), power]
}

function halfToEven(exact: string, { cut, rounded }: { readonly cut: number; readonly rounded: string }): string {
  if (!/^50*$/.test(exact.slice(cut))) return rounded
  const shorter = exact.slice(0, cut).replace(/\.$/, '')
  return /[02468]$/.test(shorter) ? shorter : rounded
}

function signOf(value: number): string {
  return value < 0 || Object.is(value, -0) ? '-' : ''
}

function notFinite(value: number): string {
  if (Number.isNaN(value)) return 'nan'
  return value > 0 ? 'inf' : '-inf'
}

function withoutZeros(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text
}

function exponentText(power: string): string {
  return `${power.startsWith('-') ? '-' : '+'}${power.replace(/^[+-]/, '').padStart(2, '0')}`
}
