/** The order of names against go-yaml's own: `keyList.Less` of its sorter.go, written once more
 *  here as it stands there, and asked about every pair of short names. */

import t from 'tap'
import { compareNames } from '../../../../lib/codec/output/yaml/order.ts'

function isLess(a: string, b: string): boolean {
  const [left, right] = [Array.from(a), Array.from(b)]
  for (let i = 0; i < left.length && i < right.length; i++) {
    const [x, y] = [left[i]!, right[i]!]
    if (x === y) continue
    const [isX, isY] = [/\p{L}/u.test(x), /\p{L}/u.test(y)]
    if (isX && isY) return x.codePointAt(0)! < y.codePointAt(0)!
    if (isX || isY) return isY
    let lead = 0
    if (x === '0' || y === '0') {
      for (let j = i - 1; j >= 0 && isDigit(left[j]); j--) {
        if (left[j] === '0') continue
        lead = 1
        break
      }
    }
    const [m, n] = [numberAt(left, i, lead), numberAt(right, i, lead)]
    if (m.value !== n.value) return m.value < n.value
    if (m.end !== n.end) return m.end < n.end
    return x.codePointAt(0)! < y.codePointAt(0)!
  }
  return left.length < right.length
}

function isDigit(character: string | undefined): boolean {
  return character !== undefined && character >= '0' && character <= '9'
}

function numberAt(
  text: readonly string[],
  start: number,
  lead: number,
): { readonly value: number; readonly end: number } {
  let [value, end] = [lead, start]
  for (; isDigit(text[end]); end++) value = value * 10 + Number(text[end])
  return { value, end }
}

t.test('names come in the order that go-yaml gives them', async t => {
  const alphabet = ['0', '1', '9', 'a', 'Z', '-', ':', 'é', '😀']
  const names = ['']
  for (const shorter of names) {
    if (Array.from(shorter).length < 3) names.push(...alphabet.map(letter => shorter + letter))
  }
  const strays: string[] = []
  for (const a of names) {
    for (const b of names) {
      const order = compareNames(a, b)
      if (order < 0 !== isLess(a, b) || (order === 0) !== (a === b)) strays.push(`${a} ${b}`)
    }
  }
  t.strictSame(strays.slice(0, 5), [])
  t.ok(names.length > 800)
})
