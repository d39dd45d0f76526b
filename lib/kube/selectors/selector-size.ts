/** The size limit of selectors that are parsed for every caller. A longer one would cost more than
 *  the rest of its request, would be sent to the upstream many times as large in a review, and
 *  would be kept as long as its watch is open. Generated selectors stay far below the limit. */

/** Characters. */
export const selectorMaxLength: number = 8_192
export const requirementsMax: number = 100

export type SelectorKind = 'labels' | 'fields'

/** True if a selector is within both bounds. O(length), and O(1) if it is longer. */
export function isCheapSelector(text: string, kind: SelectorKind): boolean {
  return text.length <= selectorMaxLength && conditionsIn(text, kind) <= requirementsMax
}

/** Characters for which one condition of an open watch counts at least. */
const conditionMinLength = 80

/** The size of a selector as long as its watch is open: what is kept of it, and what is looked at
 *  for each change. `!a` is short, and costs as much as a long condition. */
export function openSelectorSize(text: string, kind: SelectorKind): number {
  return Math.max(text.length, conditionsIn(text, kind) * conditionMinLength)
}

/** O(length). Selectors of fields have no sets: a bracket in them is a character of a value. */
function conditionsIn(text: string, kind: SelectorKind): number {
  if (text === '') return 0
  let commas = 0
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    const char = text[i]
    if (char === '(' && kind === 'labels') depth++
    else if (char === ')' && kind === 'labels') depth--
    // The values of a set are between parentheses.
    else if (char === ',' && depth <= 0) commas++
  }
  return commas + 1
}
