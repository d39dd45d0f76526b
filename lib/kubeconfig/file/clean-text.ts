/** Texts of a kubeconfig that go to a terminal, or into headers. */

/** The text with all characters named that could put a terminal into another state, as client-go
 *  does (`cleanANSIEscapeCodes`): an escape becomes `U+001B`. */
export function cleanText(text: string): string {
  return text.replace(
    /[^\p{L}\p{M}\p{N}\p{P}\p{S}\p{Z}\t-\r]/gu,
    found => `U+${(found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`,
  )
}

/** True for what may be the value of a header. */
export function isHeaderText(text: string): boolean {
  // oxlint-disable-next-line no-control-regex
  return !/[\0-\x08\x0a-\x1f\x7f]/.test(text)
}
