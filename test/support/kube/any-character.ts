/** For texts of any characters, as a `unit` of fast-check. Its own unit `binary` is a table of all
 *  characters there are, which takes a process a second to make. */

import fc from 'fast-check'

export const anyCharacter: fc.Arbitrary<string> = fc
  .oneof(
    { weight: 3, arbitrary: fc.integer({ min: 0, max: 0x7f }) },
    { weight: 2, arbitrary: fc.integer({ min: 0x80, max: 0xd7ff }) },
    { weight: 1, arbitrary: fc.integer({ min: 0xe000, max: 0x10_ffff }) },
  )
  .map(code => String.fromCodePoint(code))
