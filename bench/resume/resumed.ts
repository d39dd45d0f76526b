/** A client that resumes a watch, and counts events without reading them. */

import * as http from 'node:http'
import { request } from 'node:https'

export interface ResumeTimes {
  /** From the request to the first byte of the first event. */
  readonly firstMs: number
  /** To the last of the events that had happened. */
  readonly presentMs: number
}

const newline = 0x0a

/** Opens a watch, and closes it when it has said so many events. */
export function resume(url: string, path: string, count: number): Promise<ResumeTimes> {
  const ask = url.startsWith('https:') ? request : http.request
  const beganAt = performance.now()
  return new Promise((resolve, reject) => {
    const asked = ask(`${url}${path}`, { rejectUnauthorized: false, agent: false }, response => {
      let [events, firstMs] = [0, 0]
      response.on('data', (piece: Buffer) => {
        if (firstMs === 0) firstMs = performance.now() - beganAt
        for (let at = piece.indexOf(newline); at >= 0; at = piece.indexOf(newline, at + 1)) events++
        if (events < count) return
        resolve({ firstMs, presentMs: performance.now() - beganAt })
        response.destroy()
      })
      response.on('error', () => {})
      response.on('close', () => {
        reject(new Error(`${path}: ${response.statusCode}, ${events} of ${count} events came`))
      })
    })
    asked.on('error', reject)
    asked.end()
  })
}
