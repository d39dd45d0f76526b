/** A process whose requests cost it little: it sends some at once on each connection, looks now and
 *  then at what has come back, and only counts the bytes, without decrypting them, since it knows
 *  from the start how long each answer is. So a processor that it shares with the server is mostly
 *  the server's. */

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { connect as encrypt, type TLSSocket } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { answerOrders, Child } from '../watch/child.ts'

export interface PipeliningOrder {
  /** Ports of one program, or of several, among which the connections are divided. */
  readonly ports: readonly number[]
  /** Asked in turn. Their answers have a length, which does not change. */
  readonly paths: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  readonly connections: number
  /** As many requests are sent at once. */
  readonly atOnce: number
  readonly ms: number
}

export interface PipeliningReport {
  readonly requests: number
  readonly seconds: number
}

export function startPipelining(): Child {
  return Child.start(import.meta.url)
}

/** The buffer that all connections read into: what is in it is only counted. */
const readBuffer = Buffer.allocUnsafe(256 * 1024)

/** Reads of a connection are so far apart: each costs about as much for many answers as for one. */
const everyMs = 4

/** A record of TLS 1.3: its type, its version, and the length of what follows; that has a byte of
 *  its own and a signature at its end. */
const recordHeaderBytes = 5
const recordExtraBytes = 17

/** A connection that counts bytes up to a wanted number. Once it knows how long the answers are, it
 *  does not decrypt them any more: the lengths of the records tell how many bytes are in them. */
class Pipe {
  readonly #socket: Socket
  /** Between the socket and what encrypts. */
  readonly #transport: Duplex
  readonly #secure: TLSSocket
  #left = 0
  #onAll: () => void = () => {}
  #onFailure: (error: Error) => void = () => {}
  /** Head of an answer whose length is not known yet. */
  #head = ''
  #isLearning = true
  /** Length of a record's header so far; then the record's length, and the rest of it. */
  #headerBytes = 0
  #recordBytes = 0
  #recordLeft = 0

  private constructor(port: number) {
    const onread = {
      buffer: readBuffer,
      callback: (bytes: number) => {
        if (this.#isLearning) this.#transport.push(Buffer.from(readBuffer.subarray(0, bytes)))
        else this.#count(bytes)
        // More is read in the next round.
        return this.#isLearning
      },
    }
    const socket = connect({ host: '127.0.0.1', port, onread, noDelay: true })
    this.#socket = socket
    this.#transport = new Duplex({
      read: () => {},
      write: (bytes: Buffer, _, done) => void socket.write(bytes, done),
    })
    this.#secure = encrypt({
      socket: this.#transport,
      rejectUnauthorized: false,
      minVersion: 'TLSv1.3',
    })
    this.#secure.on('data', (bytes: Buffer) => this.#learn(bytes))
    for (const one of [socket, this.#secure]) one.on('error', error => this.#onFailure(error))
    socket.on('close', () => this.#onFailure(new Error('the server closed the connection')))
  }

  static async open(port: number): Promise<Pipe> {
    const pipe = new Pipe(port)
    await once(pipe.#secure, 'secureConnect')
    return pipe
  }

  /** Sends requests; calls `onAll` when so many bytes have come. */
  ask({ bytes, answerBytes }: Batch, onAll: () => void, onFailure: (error: Error) => void): void {
    this.#onAll = onAll
    this.#onFailure = onFailure
    this.#left = answerBytes
    this.#secure.write(bytes)
  }

  /** Sends a request; how long its answer is. To be called before anything is asked: what a server
   *  says of itself after the handshake comes before the answer. */
  async learn(request: string): Promise<number> {
    this.#isLearning = true
    this.#head = ''
    const bytes = Buffer.from(request, 'latin1')
    await new Promise<void>((resolve, reject) => {
      this.ask({ bytes, answerBytes: Infinity }, resolve, reject)
    })
    this.#isLearning = false
    return lengthOf(this.#head)!
  }

  /** Reads what has come. */
  read(): void {
    this.#socket.resume()
  }

  close(): void {
    this.#onFailure = () => {}
    this.#secure.destroy()
    this.#socket.destroy()
  }

  #learn(bytes: Buffer): void {
    this.#head += bytes.toString('latin1')
    try {
      if (lengthOf(this.#head) === this.#head.length) this.#onAll()
    } catch (error) {
      this.#onFailure(error as Error)
    }
  }

  #count(bytes: number): void {
    let at = 0
    while (at < bytes) {
      if (this.#headerBytes < recordHeaderBytes) {
        // The last two bytes are the length.
        this.#recordBytes = ((this.#recordBytes << 8) | readBuffer[at++]!) & 0xffff
        if (++this.#headerBytes === recordHeaderBytes) this.#recordLeft = this.#recordBytes
        continue
      }
      const some = Math.min(bytes - at, this.#recordLeft)
      at += some
      this.#recordLeft -= some
      if (this.#recordLeft > 0) continue
      this.#headerBytes = 0
      this.#left -= this.#recordBytes - recordExtraBytes
      if (this.#left === 0) this.#onAll()
      else if (this.#left < 0) this.#onFailure(new Error('an answer has become longer'))
    }
  }
}

function lengthOf(answer: string): number | undefined {
  const end = answer.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  if (!answer.startsWith('HTTP/1.1 200 ')) throw new Error(answer.slice(0, end))
  const length = /^content-length: *(\d+)/im.exec(answer.slice(0, end))?.[1]
  if (length === undefined) throw new Error('an answer says nothing of its length')
  return end + 4 + Number(length)
}

/** Requests that are sent at once, and the length of all their answers. */
interface Batch {
  readonly bytes: Buffer
  readonly answerBytes: number
}

async function run(order: PipeliningOrder): Promise<PipeliningReport> {
  const { ports, paths, headers, connections, atOnce, ms } = order
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const requests = paths.map(
    path => `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines.join('')}\r\n`,
  )
  // All at once: the server's threads must get their parts.
  const opening = Array.from({ length: connections }, (_, i) => Pipe.open(ports[i % ports.length]!))
  const pipes = await Promise.all(opening)
  await Promise.all(pipes.map(pipe => pipe.learn(requests[0]!)))
  const lengths: number[] = []
  for (const request of requests) lengths.push(await pipes[0]!.learn(request))
  const batches = requests.map((_, first): Batch => {
    const each = Array.from({ length: atOnce }, (_, i) => (first * atOnce + i) % requests.length)
    const bytes = Buffer.from(each.map(at => requests[at]).join(''), 'latin1')
    return { bytes, answerBytes: each.reduce((sum, at) => sum + lengths[at]!, 0) }
  })
  const reading = setInterval(() => pipes.forEach(pipe => pipe.read()), everyMs)
  let turn = 0
  const startMs = performance.now()
  const all = pipes.map(
    pipe =>
      new Promise<void>((resolve, reject) => {
        const next = (): void => {
          if (performance.now() - startMs >= ms) resolve()
          else pipe.ask(batches[turn++ % batches.length]!, next, reject)
        }
        next()
      }),
  )
  await Promise.all(all)
  const seconds = (performance.now() - startMs) / 1000
  clearInterval(reading)
  for (const pipe of pipes) pipe.close()
  return { requests: turn * atOnce, seconds }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) answerOrders(run)
