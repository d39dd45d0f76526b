/** The hash that puts an object in its shard (KEP-5866): FNV-1a of 64 bits, in two halves, because
 *  numbers of JavaScript hold 53 bits. */

export interface ShardHash {
  readonly high: number
  readonly low: number
}

const offset: ShardHash = { high: 0xcbf2_9ce4, low: 0x8422_2325 }
/** The prime is 2 to the power of 40, and this. */
const primeRest = 0x1b3
const half = 0x1_0000_0000

/** Hashes in their order, as numbers. */
export function compareHashes(a: ShardHash, b: ShardHash): number {
  return a.high === b.high ? a.low - b.low : a.high - b.high
}

/** The hash of a text in UTF-8. */
export function shardHash(text: string): ShardHash {
  let { high, low } = offset
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code > 0x7f) return hashOfBytes(Buffer.from(text))
    low = (low ^ code) >>> 0
    const product = low * primeRest
    high = (high * primeRest + Math.floor(product / half) + low * 0x100) >>> 0
    low = product >>> 0
  }
  return { high, low }
}

function hashOfBytes(bytes: Uint8Array): ShardHash {
  let { high, low } = offset
  for (const byte of bytes) {
    low = (low ^ byte) >>> 0
    const product = low * primeRest
    high = (high * primeRest + Math.floor(product / half) + low * 0x100) >>> 0
    low = product >>> 0
  }
  return { high, low }
}
