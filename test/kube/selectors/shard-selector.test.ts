import { readFileSync } from 'node:fs'
import t from 'tap'
import { createRandom } from '../../../lib/base/random.ts'
import { CacheError } from '../../../lib/base/errors.ts'
import { shardHash } from '../../../lib/kube/selectors/shard-hash.ts'
import { parseShardSelector } from '../../../lib/kube/selectors/shard-selector.ts'
import { statusFromError } from '../../../lib/kube/status.ts'

const uid = 'object.metadata.uid'
const low = `shardRange(${uid}, '0x0000000000000000', '0x8000000000000000')`
const high = `shardRange(${uid}, '0x8000000000000000', '0x10000000000000000')`

t.test('a hash is FNV-1a of 64 bits over UTF-8', async t => {
  for (const text of [
    '',
    'a',
    'blue',
    '3b8b4c97-6ff3-400c-a4dc-9b80942dff35',
    'é',
    '🙂 and more',
  ]) {
    let hash = 0xcbf29ce484222325n
    for (const byte of Buffer.from(text)) {
      hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & 0xffff_ffff_ffff_ffffn
    }
    const { high, low } = shardHash(text)
    t.equal((BigInt(high) << 32n) | BigInt(low), hash, text)
  }
})

t.test('a selector is repeated in one form, however it was written', async t => {
  const same = [
    low,
    low.replaceAll("'", '"'),
    ` \u00a0( ${low} ) // half\n`,
    `x.y().${low}`,
    `k8s.${low}`,
    `shardRange(object . metadata . uid, r'0x0000000000000000', '''\\x30x8000000000000000''')`,
    `[1][0].shardRange(${uid}, "\\060x0000000000000000", '0x8000000000000000')`,
  ]
  for (const text of same) t.equal(parseShardSelector(text).text, low, text)
  t.equal(parseShardSelector(`(${low}||${high})||${low}`).text, `${low} || ${high} || ${low}`)
})

const list =
  "'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER"
/** Literals that are no text, by the names that their values have in Go. */
const goTypes = [
  ['1.5', 'float64'],
  ['1', 'int64'],
  ['1u', 'uint64'],
  ["b'x'", '[]uint8'],
  ['true', 'bool'],
  ['null', 'structpb.NullValue'],
] as const

/** Refusals beside those of the recordings. */
const refusals: readonly (readonly [text: string, message: string])[] = [
  ...goTypes.map(
    ([literal, type]) =>
      [
        `shardRange(${uid}, ${literal}, '0x8000000000000000')`,
        `hexStart must be a string literal, got ${type}`,
      ] as const,
  ),
  [
    `shardRange(${uid}, '0x8000000000000000', '0x8000000000000000')`,
    'shard range start 0x8000000000000000 must be less than end 0x8000000000000000',
  ],
  ['\u00a0', 'empty shard selector is not allowed; omit the parameter for unfiltered lists'],
  ['a ? b : c', 'unsupported function "_?_:_"; only shardRange() and || are allowed'],
  ['- -a()', 'unsupported function "a"; only shardRange() and || are allowed'],
  ['-a()', 'unsupported function "-_"; only shardRange() and || are allowed'],
  ['1 + 2 * 3 % 4', 'unsupported function "_+_"; only shardRange() and || are allowed'],
  ['.shardRange()', 'unsupported function ".shardRange"; only shardRange() and || are allowed'],
  ['[1, 2,]', 'unexpected expression kind 4; expected shardRange() call or || operator'],
  ['a.b{c: 1, d: 2,}', 'unexpected expression kind 8; expected shardRange() call or || operator'],
  ['', 'empty shard selector is not allowed; omit the parameter for unfiltered lists'],
  ['a &', "CEL parse error: Syntax error: token recognition error at: '&'"],
  ["'x", "CEL parse error: Syntax error: token recognition error at: ''x'"],
  ["'\\ud800'", 'CEL parse error: invalid unicode code point'],
  ['package', 'CEL parse error: reserved identifier: package'],
  ['a ||', `CEL parse error: Syntax error: mismatched input '<EOF>' expecting {${list}}`],
]

t.test('what is wrong with a selector is said in upstream’s words', async t => {
  for (const [text, message] of refusals) {
    try {
      parseShardSelector(text)
      t.fail(`${text} is taken`)
    } catch (error) {
      t.type(error, CacheError)
      const status = statusFromError(error as CacheError)
      const expected = { code: 500, message: `invalid shard selector: ${message}` }
      t.strictSame(status, expected, text)
    }
  }
})

t.test('long and deep selectors are taken apart, or refused, at once', async t => {
  const many = Array.from({ length: 5_000 }, () => low).join(' || ')
  t.equal(parseShardSelector(many).ranges.length, 1, 'ranges that overlap are joined')
  for (const text of [
    '('.repeat(1e5),
    '['.repeat(1e5),
    '!'.repeat(1e5),
    `${'a?b:'.repeat(1e5)}c`,
  ]) {
    t.throws(() => parseShardSelector(text), /invalid shard selector: CEL parse error/)
  }
  t.throws(() => parseShardSelector(`a${'.b'.repeat(1e5)}{}`), /expression kind 8/)
  t.throws(() => parseShardSelector(`a${'.b'.repeat(1e5)}`), /expression kind 7/)
})

t.test('a hash is found in ranges as by comparing it with each', async t => {
  const random = createRandom(7)
  const bound = (): bigint => {
    const byte = BigInt(Math.floor(random.next() * 256))
    return random.next() < 0.1 ? 1n << 64n : (byte << 56n) | byte
  }
  for (let round = 0; round < 200; round++) {
    const bounds = Array.from({ length: 1 + (round % 5) }, () => [bound(), bound()] as const)
    const ranges = bounds.map(([a, b]) => (a < b ? [a, b] : [b, a + 1n]) as [bigint, bigint])
    const valid = ranges.filter(([, end]) => end <= 1n << 64n)
    if (valid.length === 0) continue
    const hex = (value: bigint): string => `0x${value.toString(16).padStart(16, '0')}`
    const text = valid.map(([a, b]) => `shardRange(${uid}, '${hex(a)}', '${hex(b)}')`)
    const selector = parseShardSelector(text.join('||'))
    for (const [a, b] of valid) {
      for (const hash of [a - 1n, a, a + 1n, b - 1n, b, b + 1n]) {
        if (hash < 0n || hash >= 1n << 64n) continue
        const expected = valid.some(([start, end]) => start <= hash && hash < end)
        const has = selector.has(Number(hash >> 32n), Number(hash & 0xffff_ffffn))
        if (has !== expected) t.fail(`${text.join('||')} ${hash}`)
      }
    }
  }
})

t.test('what is no selector is refused with the words of a server', async t => {
  // Each was sent to a kube-apiserver 1.36 with ShardedListAndWatch on 24 November 2026.
  const file = 'test/kube/selectors/data/refusals.json'
  const rows = JSON.parse(readFileSync(file, 'utf8')) as readonly (readonly [string, string])[]
  t.ok(rows.length > 150)
  for (const [text, message] of rows) {
    try {
      parseShardSelector(text)
      t.fail(text)
    } catch (error) {
      const wanted = { code: 500, message: `invalid shard selector: ${message}` }
      t.strictSame(statusFromError(error as CacheError), wanted, text)
      t.equal((error as CacheError).code, 'invalid_request')
    }
  }
})
