/** The settings of the other side that concern what is sent to it (RFC 9113, 6.5.2). */

import { errorCode, setting, usualPayloadMaxBytes, windowMaxBytes } from './frames.ts'

export interface PeerSettings {
  /** Undefined if it stays what it was. */
  readonly initialWindowBytes: number | undefined
  readonly frameMaxBytes: number | undefined
  readonly streamsMax: number | undefined
  /** True if the peer says how large its table of headers may be. */
  readonly hasTable: boolean
}

const settingBytes = 6
const frameMostBytes = 2 ** 24 - 1

/** A number is the code of what is wrong. */
export function readSettings(bytes: Buffer, from: number, to: number): PeerSettings | number {
  if ((to - from) % settingBytes !== 0) return errorCode.frameSize
  let initialWindowBytes: number | undefined
  let frameMaxBytes: number | undefined
  let streamsMax: number | undefined
  let hasTable = false
  for (let at = from; at < to; at += settingBytes) {
    const value = bytes.readUInt32BE(at + 2)
    switch (bytes.readUInt16BE(at)) {
      case setting.headerTableBytes:
        hasTable = true
        break
      case setting.enablePush:
        if (value > 1) return errorCode.protocol
        break
      case setting.initialWindowBytes:
        if (value > windowMaxBytes) return errorCode.flowControl
        initialWindowBytes = value
        break
      case setting.frameMaxBytes:
        if (value < usualPayloadMaxBytes || value > frameMostBytes) return errorCode.protocol
        frameMaxBytes = value
        break
      case setting.streamsMax:
        streamsMax = value
        break
      default:
    }
  }
  return { initialWindowBytes, frameMaxBytes, streamsMax, hasTable }
}
