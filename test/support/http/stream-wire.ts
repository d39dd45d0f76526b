/** The connection of a client of streams to pods: it sends what the test says, and takes everything
 *  until it is stuck. */

import { Duplex } from 'node:stream'
import { HeldStreamBytes } from '../../../lib/simulator/streams/held-bytes.ts'
import type { StreamServices } from '../../../lib/simulator/streams/stream-frames.ts'
import { type Tally, UserTally } from '../../../lib/cache/http/limits/user-tally.ts'
import { FakeClock } from '../fake-clock.ts'

export class StreamWire extends Duplex {
  readonly sent: Buffer[] = []
  /** A client that reads nothing. */
  isStuck = false
  #done: () => void = () => {}

  override _read(): void {}

  override _write(piece: Buffer, _: string, done: () => void): void {
    this.sent.push(piece)
    if (this.isStuck) this.#done = done
    else done()
  }

  /** The client reads again. */
  goOn(): void {
    this.isStuck = false
    this.#done()
  }

  get text(): string {
    return Buffer.concat(this.sent).toString('latin1')
  }
}

export interface CountedServices extends StreamServices {
  readonly clock: FakeClock
  /** Bytes that are held. */
  readonly amount: () => number
}

/** Services of one stream, and of all streams together with this bound. */
export function streamServices(maxBytes: number = Infinity): CountedServices {
  let amount = 0
  const tally = new UserTally(Infinity, maxBytes)
  const counted: Tally = {
    add(user, bytes): ReturnType<Tally['add']> {
      const refusal = tally.add(user, bytes)
      if (refusal === undefined) amount += bytes
      return refusal
    },
    remove(user, bytes): void {
      tally.remove(user, bytes)
      amount -= bytes
    },
    isCrowded: (): boolean => false,
    isAbove: (): boolean => false,
  }
  return {
    clock: new FakeClock(),
    held: new HeldStreamBytes(counted, undefined),
    amount: () => amount,
  }
}

/** A frame of a WebSocket's client, which masks it. */
export function maskedFrame(opcode: number, payload: Buffer, isLast = true): Buffer {
  const mask = Buffer.of(1, 2, 3, 4)
  const { length } = payload
  const size =
    length < 126
      ? [0x80 | length]
      : length < 65_536
        ? [0x80 | 126, length >> 8, length & 0xff]
        : [0x80 | 127, 0, 0, 0, 0, 0, length >> 16, (length >> 8) & 0xff, length & 0xff]
  const masked = payload.map((byte, i) => byte ^ (mask[i & 3] ?? 0))
  return Buffer.concat([Buffer.of((isLast ? 0x80 : 0) | opcode, ...size), mask, masked])
}
