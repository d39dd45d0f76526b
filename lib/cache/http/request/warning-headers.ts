/** The Warning headers of a response. Clients choose what they are warned of, such as a hundred
 *  thousand unknown fields, so upstream bounds them: once all texts together are too long, each is
 *  cut, and the rest is left out. */

import { warningHeader } from '@watchglass/kube'

/** In characters. */
const allMaxLength = 4 * 1024
const cutLength = 256

/** The headers in the order of the texts, each text once. */
export function warningHeaders(texts: Iterable<string>): string[] {
  const seen: string[] = []
  const headers: string[] = []
  let length = 0
  for (const text of new Set(texts)) {
    if (text === '') continue
    seen.push(text)
    const header = warningHeader(text)
    if (header === undefined) continue
    length += lengthOf(text)
    if (length > allMaxLength) return cutHeaders(seen, texts)
    headers.push(header)
  }
  return headers
}

/** The texts that were there when they became too long are all shown, however long they are
 *  then. */
function cutHeaders(seen: readonly string[], texts: Iterable<string>): string[] {
  const headers: string[] = []
  let length = 0
  let i = 0
  for (const text of new Set(texts)) {
    if (text === '') continue
    if (i++ >= seen.length && length >= allMaxLength) break
    const cut = lengthOf(text) > cutLength ? Array.from(text).slice(0, cutLength).join('') : text
    const header = warningHeader(cut)
    if (header === undefined) continue
    length += lengthOf(cut)
    headers.push(header)
  }
  return headers
}

/** In characters as Go counts them. */
function lengthOf(text: string): number {
  let length = 0
  for (const _ of text) length++
  return length
}
