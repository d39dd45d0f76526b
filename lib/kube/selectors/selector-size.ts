/** Which selectors are worth parsing for anybody who asks: a longer one costs more than the rest of its request, is put to the upstream
 *  many times as large in a review, and is kept for as long as its watch is open. Clients that generate selectors stay far below. */

/** Characters. */
export const selectorMaxLength: number = 4_096
export const requirementsMax: number = 100

/** True if a selector, of labels or of fields, is within both bounds. O(length), and O(1) if it is longer. */
export function isCheapSelector(text: string): boolean {
  if (text.length > selectorMaxLength) return false
  let commas = 0
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    const char = text[i]
    if (char === '(') depth++
    else if (char === ')') depth--
    // Values of a set stand between parentheses.
    else if (char === ',' && depth <= 0) commas++
  }
  return commas < requirementsMax
}
