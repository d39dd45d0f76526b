/** The bodies of a bare server: those with which the measured one answers the same paths. */

import { Http1Client, type RequestHeaders } from './http1-client.ts'

/** The order to answer from now on as that server answers now. */
export interface CopyOrder {
  readonly port: number
  readonly paths: readonly string[]
  readonly headers: RequestHeaders
}

/** The bytes of all bodies, and how many pieces they have. */
export interface CopyReport {
  readonly bytes: number
  readonly pieces: number
}

/** Fetches the bodies by their paths, each in the pieces in which it came. */
export async function copyBodies(
  bodies: Map<string, readonly Buffer[]>,
  { port, paths, headers }: CopyOrder,
): Promise<CopyReport> {
  bodies.clear()
  const client = await Http1Client.connect(port)
  const report = { bytes: 0, pieces: 0 }
  for (const path of new Set(paths)) {
    const { status, bytes, pieces } = await client.get(path, headers, true)
    if (status !== 200) throw new Error(`${path} is answered with ${status}`)
    bodies.set(path, pieces)
    report.bytes += bytes
    report.pieces += pieces.length
  }
  client.close()
  return report
}
