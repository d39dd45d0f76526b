/** Frames of a compressed watch: what is written at once is one gzip member, as kube-apiserver 1.37
 *  does it with each flush. A frame is compressed once, however many watches get it, alone or with
 *  others. */

import { constants, crc32, deflateRawSync } from 'node:zlib'
import { crcShift, GzipMember, storedBlocks, type ZippedRun } from '@watchglass/codec'

/** Smaller frames are not worth it. */
const storedMaxBytes = 512
/** Larger ones would hold the event loop for too long: this much takes 3 ms. */
const deflatedMaxBytes = 512 * 1024
/** Speed before size, as upstream. */
const level = 1

/** The compressed form goes with the frame. */
const runs = new WeakMap<Uint8Array, ZippedRun>()

/** One gzip member with all of these frames. */
export function zippedMember(frames: readonly Uint8Array[]): Uint8Array {
  const member = new GzipMember()
  const pieces = [member.head]
  for (const frame of frames) pieces.push(member.add(runOf(frame)))
  pieces.push(member.end())
  return Buffer.concat(pieces)
}

function runOf(frame: Uint8Array): ZippedRun {
  let run = runs.get(frame)
  if (run === undefined) runs.set(frame, (run = zipped(frame)))
  return run
}

function zipped(frame: Uint8Array): ZippedRun {
  const { length } = frame
  const isDeflated = length > storedMaxBytes && length <= deflatedMaxBytes
  const deflated = isDeflated
    ? deflateRawSync(frame, { level, finishFlush: constants.Z_FULL_FLUSH })
    : storedBlocks(frame)
  return { deflated, crc: crc32(frame), length, shift: crcShift(length) }
}
