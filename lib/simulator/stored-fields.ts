/** The fields of a stored message, for those who read a few of them. */

import type { KeyValue } from '@watchglass/store'
import { wireBytes, WireReader, wireVarint } from '@watchglass/base'

export type StoredWindow = Pick<KeyValue, 'bytes' | 'start' | 'end'>

/** Passes each field of a message that is bytes or a number. */
export function eachField(
  { bytes, start, end }: StoredWindow,
  take: (field: number, value: StoredWindow | number) => void,
): void {
  const reader = new WireReader()
  reader.reset(bytes, start, end)
  while (reader.nextField()) {
    const { field, wire } = reader
    if (wire === wireVarint) take(field, reader.readVarint())
    else if (wire !== wireBytes) reader.skip()
    else if (reader.readWindow()) take(field, { bytes, start: reader.start, end: reader.at })
  }
}
