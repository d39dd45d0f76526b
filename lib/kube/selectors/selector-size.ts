/** The size limit of selectors that are parsed for every caller. A longer one would cost more than
 *  the rest of its request, would be sent to the upstream many times as large in a review, and
 *  would be kept as long as its watch is open. Generated selectors stay far below the limit. */

/** Characters. */
export const selectorMaxLength: number = 8_192
export const requirementsMax: number = 100

/** True if a selector, of labels or of fields, is within both bounds. O(length), and O(1) if it is
 *  longer. */
export function isCheapSelector(text: string): boolean {
  if (text.length > selectorMaxLength) return false
  let commas = 0
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    const char = text[i]
    if (char === '(') depth++
    else if (char === ')') depth--
    // The values of a set are between parentheses.
    else if (char === ',' && depth <= 0) commas++
  }
  return commas < requirementsMax
}
