/** Floating-point numbers as `%v` prints them: the fewest digits that say the number, with an
 *  exponent from 10^6 on and below 10^-4. */

export function goFloat(number: number): string {
  if (!Number.isFinite(number)) return Number.isNaN(number) ? 'NaN' : number > 0 ? '+Inf' : '-Inf'
  if (Object.is(number, -0)) return '-0'
  if (number === 0) return '0'
  const [mantissa = '', power = '0'] = number.toExponential().split('e')
  const exponent = Number(power)
  if (exponent >= -4 && exponent < 6) return plain(mantissa, exponent)
  const sign = exponent < 0 ? '-' : '+'
  return `${mantissa}e${sign}${String(Math.abs(exponent)).padStart(2, '0')}`
}

/** Without an exponent; JavaScript has one below 10^-6. */
function plain(mantissa: string, exponent: number): string {
  const sign = mantissa.startsWith('-') ? '-' : ''
  const digits = mantissa.replace(/[-.]/g, '')
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`
  if (digits.length <= exponent + 1) return sign + digits.padEnd(exponent + 1, '0')
  return `${sign}${digits.slice(0, exponent + 1)}.${digits.slice(exponent + 1)}`
}
