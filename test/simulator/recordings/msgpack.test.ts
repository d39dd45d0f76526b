/** MessagePack, by the bytes of its specification, both ways; and what is no value of it. */

import t from 'tap'
import {
  pack,
  type Packed,
  packedMap,
  PackedMap,
  PackProblem,
  unpack,
} from '../../../lib/simulator/recordings/msgpack.ts'

const rows: readonly (readonly [hex: string, value: Packed])[] = [
  ['00', 0],
  ['7f', 127],
  ['e0', -32],
  ['ff', -1],
  ['c0', null],
  ['c2', false],
  ['c3', true],
  ['cc80', 128],
  ['ccff', 255],
  ['cd0100', 256],
  ['cdffff', 65535],
  ['ce00010000', 65536],
  ['ceffffffff', 2 ** 32 - 1],
  ['cf0000000100000000', 2 ** 32],
  ['cfffffffffffffffff', 2n ** 64n - 1n],
  ['d0df', -33],
  ['d080', -128],
  ['d1ff7f', -129],
  ['d18000', -32768],
  ['d2ffff7fff', -32769],
  ['d280000000', -(2 ** 31)],
  ['d3ffffffff7fffffff', -(2 ** 31) - 1],
  ['d38000000000000000', -(2n ** 63n)],
  ['cb3ff8000000000000', 1.5],
  ['a0', ''],
  ['a3616263', 'abc'],
  ['a2c3a9', 'é'],
  [`bf${'61'.repeat(31)}`, 'a'.repeat(31)],
  [`d920${'61'.repeat(32)}`, 'a'.repeat(32)],
  [`da0100${'61'.repeat(256)}`, 'a'.repeat(256)],
  [`db00010000${'61'.repeat(65536)}`, 'a'.repeat(65536)],
  ['c40201ff', Buffer.of(1, 255)],
  ['90', []],
  ['920193c0c2c3', [1, [null, false, true]]],
  [`dc0010${'01'.repeat(16)}`, Array.from({ length: 16 }, () => 1)],
  ['80', packedMap({})],
  ['82a16101a16290', packedMap({ a: 1, b: [] })],
  ['8192a17601c0', new PackedMap([[['v', 1], null]])],
  [`de0010${'00c0'.repeat(16)}`, new PackedMap(Array.from({ length: 16 }, () => [0, null]))],
]

t.test('values and their bytes', async t => {
  for (const [hex, value] of rows) {
    t.strictSame(unpack(Buffer.from(hex, 'hex')), value, hex.slice(0, 20))
    t.equal(pack(value).toString('hex'), hex, hex.slice(0, 20))
  }
})

const onlyRead: readonly (readonly [hex: string, value: Packed])[] = [
  ['ca3fc00000', 1.5],
  ['dd0000000101', [1]],
  ['df00000001a16101', packedMap({ a: 1 })],
  ['c50001ff', Buffer.of(255)],
  ['c600000001ff', Buffer.of(255)],
]

t.test('longer forms are read, too', async t => {
  for (const [hex, value] of onlyRead) t.strictSame(unpack(Buffer.from(hex, 'hex')), value, hex)
})

const refused: readonly (readonly [hex: string, message: string])[] = [
  ['', 'it ends in the middle of a value'],
  ['ddffffffff', 'it ends in the middle of a value'],
  ['dfffffffff00', 'it ends in the middle of a value'],
  ['dbffffffff61', 'it ends in the middle of a value'],
  ['cf00', 'it ends in the middle of a value'],
  ['9201', 'it ends in the middle of a value'],
  ['0101', '1 bytes come after its end'],
  ['c1', 'byte 0 is 0xc1: no value'],
  ['d40000', 'byte 0 is 0xd4: no value'],
  ['a1ff', 'the text before byte 2 is not UTF-8'],
  ['91'.repeat(102), 'it is nested more than 100 deep'],
]

t.test('what is no value is refused, whatever length it claims', async t => {
  for (const [hex, message] of refused) {
    t.throws(() => unpack(Buffer.from(hex, 'hex')), new PackProblem(message), hex.slice(0, 20))
  }
})
