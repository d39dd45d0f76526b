/** Objects that are right but for a few odd values: what a client may put where a text, a number or
 *  a list belongs. */

import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import type { Random } from '../../../lib/base/random.ts'

/** A recorded object of a built-in resource, where it was written, and the status that it got. */
export interface Recorded {
  readonly path: string
  readonly object: Json
  readonly status: number
}

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

const file = 'test/writes/validation/answers.json.gz'

export function recordedObjects(): readonly Recorded[] {
  return JSON.parse(gunzipSync(readFileSync(file)).toString()) as readonly Recorded[]
}

/** A text that JSON.stringify writes as a number. */
const numberMark = '\u0001number:'

const values: readonly ((length: number) => Json)[] = [
  () => null,
  () => '',
  () => true,
  () => 0,
  () => -1,
  () => 2 ** 31,
  () => 2 ** 53,
  ...['1e400', '9223372036854775807', '9223372036854775808', '-0', '1.5', '1E2', '0.1e-7'].map(
    text => () => numberMark + text,
  ),
  () => [],
  () => ({}),
  () => [null],
  () => ({ '': null }),
  () => [[[]]],
  length => 'a'.repeat(length),
  length => 'a/'.repeat(length),
  length => 'a:'.repeat(length),
  length => '9'.repeat(length),
  length => '\u00e4\ud83d\ude00'.repeat(length),
  () => '\ud800',
  () => '\u0000\u001f\u2028<>&',
  () => '0.0000000001',
  () => '1e-30',
  () => '99999999999999999999Ei',
  () => '1Ki1',
  () => '2026-01-01T00:00:00.123456789+23:59',
  () => '0001-01-01T00:00:00Z',
  () => '292277026596-12-04T15:30:08Z',
  () => '999999h',
  () => '%!s(MISSING)',
  () => '::1%eth0',
  () => '10.0.0.0/33',
  () => '__proto__',
  () => 'AAAA=',
]

/** The object by the name, as it would be created. */
export function named({ object }: Recorded, name: string): { [name: string]: Json } {
  const { metadata, ...rest } = structuredClone(object) as { [name: string]: Json }
  const { labels, annotations } = (metadata ?? {}) as { [name: string]: Json }
  return { ...rest, metadata: { name, labels: labels ?? {}, annotations: annotations ?? {} } }
}

/** The object by the name with up to three values changed, as JSON. */
export function oddObject(random: Random, base: Recorded, name: string): string {
  const below = (count: number): number => Math.floor(random.next() * count)
  const changed = named(base, name)
  for (let i = [0, 1, 1, 1, 1, 2, 3][below(7)]!; i > 0; i--) {
    const places = placesIn(changed)
    const { holder, key } = places[below(places.length)]!
    const value = values[below(values.length)]!([10, 300, 10_000][below(3)]!)
    if (Array.isArray(holder) && below(4) === 0) holder.push(structuredClone(holder[Number(key)]!))
    else if (Array.isArray(holder)) holder[Number(key)] = value
    else if (below(10) === 0) holder[JSON.stringify(value).slice(0, 300)] = holder[key]!
    else holder[key] = value
  }
  return JSON.stringify(changed).replaceAll(/"\\u0001number:([^"]*)"(?!:)/g, '$1')
}

interface Place {
  readonly holder: Json[] | { [name: string]: Json }
  readonly key: string
}

function placesIn(value: Json): Place[] {
  if (value === null || typeof value !== 'object') return []
  return Object.entries(value).flatMap(([key, inner]) => [
    { holder: value, key },
    ...placesIn(inner),
  ])
}
