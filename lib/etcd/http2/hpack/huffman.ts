/** The Huffman code of HPACK (RFC 7541, appendix B), read a byte at a time. */

/** The lengths of the codes of all bytes, and of the end. The code is canonical: of the same
 *  length, codes rise with the bytes, so the lengths are all that is to be known. */
const codeBits: readonly number[] = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
  28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5,
  6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
  7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6,
  7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23,
  23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22,
  22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22,
  23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27,
  27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25,
  24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
]
const endOfString = 256
/** The rest of the last byte is at most so long, and all ones. */
const paddingBitsMax = 7

/** For each state and each four bits the next state, and the byte that they complete. No code is
 *  shorter than five bits, so they complete one at most. */
const nextStates = new Uint16Array(256 * 16)
const completed = new Int16Array(256 * 16).fill(-1)
/** States in which a string may end. */
const mayEnd = new Uint8Array(256)

/** An inner node of the tree of codes; its children are nodes or bytes. */
interface Node {
  readonly state: number
  readonly children: [Node | number | undefined, Node | number | undefined]
}

function treeOf(): Node[] {
  const nodes: Node[] = [{ state: 0, children: [undefined, undefined] }]
  const order = [...codeBits.keys()].sort((a, b) => codeBits[a]! - codeBits[b]! || a - b)
  let [code, length] = [0, 0]
  for (const byte of order) {
    code *= 2 ** (codeBits[byte]! - length)
    length = codeBits[byte]!
    let node = nodes[0]!
    for (let left = length - 1; left > 0; left--) {
      const bit = (code >>> left) & 1
      let next = node.children[bit]
      if (typeof next !== 'object') {
        next = { state: nodes.length, children: [undefined, undefined] }
        nodes.push(next)
        node.children[bit] = next
      }
      node = next
    }
    node.children[code & 1] = byte
    code++
  }
  return nodes
}

function fillTables(): void {
  const nodes = treeOf()
  for (const start of nodes) {
    for (let bits = 0; bits < 16; bits++) {
      let node = start
      const at = start.state * 16 + bits
      for (let left = 3; left >= 0; left--) {
        const next = node.children[(bits >>> left) & 1]
        if (typeof next === 'object') node = next
        else {
          completed[at] = next ?? endOfString
          node = nodes[0]!
        }
      }
      nextStates[at] = node.state
    }
  }
  let node: Node | number | undefined = nodes[0]
  for (let bits = 0; bits <= paddingBitsMax && typeof node === 'object'; bits++) {
    mayEnd[node.state] = 1
    node = node.children[1]
  }
}

fillTables()

/** For each state and each byte: the next state, the bytes that it completes, and their number;
 *  with the end of the string among them, the number is `noText`. One entry for each byte, since a
 *  long URL is the dearest that a stranger may ask to have decoded. */
const steps = new Uint32Array(256 * 256)
const noText = 3

function fillSteps(): void {
  for (let at = 0; at < steps.length; at++) {
    const [high, low] = [(at >>> 8) * 16 + ((at >>> 4) & 15), at & 15]
    const then = nextStates[high]! * 16 + low
    const [one, other] = [completed[high]!, completed[then]!]
    let number = Number(one >= 0) + Number(other >= 0)
    if (one === endOfString || other === endOfString) number = noText
    const first = one >= 0 ? one : other
    steps[at] = (number << 24) | ((other & 0xff) << 16) | ((first & 0xff) << 8) | nextStates[then]!
  }
}

fillSteps()

/** No code is shorter than five bits; and a step writes two bytes, whatever it completes. */
function textMaxBytes(bytes: number): number {
  return Math.ceil((bytes * 8) / 5) + 2
}

/** Longer texts are those of headers that nobody takes. */
const usualTextBytes = 64 * 1024
const scratch = Buffer.allocUnsafeSlow(textMaxBytes(usualTextBytes))

/** The text of these bytes, one character for each byte; undefined if they are no code. */
export function huffmanText(bytes: Buffer, from: number, to: number): string | undefined {
  const most = textMaxBytes(to - from)
  const out = most <= scratch.length ? scratch : Buffer.allocUnsafe(most)
  let [state, length] = [0, 0]
  for (let i = from; i < to; i++) {
    const step = steps[(state << 8) | bytes[i]!]!
    const number = step >>> 24
    if (number === noText) return undefined
    out[length] = step >>> 8
    out[length + 1] = step >>> 16
    length += number
    state = step & 0xff
  }
  return mayEnd[state] === 1 ? out.toString('latin1', 0, length) : undefined
}
