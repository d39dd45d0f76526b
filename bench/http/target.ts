/** A server that is asked: where it is, and what its processor time is read from. */

import { request } from 'node:https'
import * as http from 'node:http'
import type { RequestHeaders } from '../list/http1-client.ts'
import { ProcessUsage } from '../proxy/process-usage.ts'

/** A server that is there already. */
export interface Against {
  readonly url: string
  /** Undefined: its processor time is not known. */
  readonly pid: number | undefined
}

export class Target {
  readonly name: string
  /** Without a slash at the end. */
  readonly url: string
  readonly #usage: ProcessUsage

  constructor(name: string, { url, pid }: Against) {
    this.name = name
    this.url = url.replace(/\/+$/, '')
    this.#usage = new ProcessUsage({ pid }, 0)
  }

  /** Time of the processor since it started; 0 where it is not known. */
  cpuSeconds(): Promise<number> {
    return this.#usage.cpuSeconds()
  }

  get(path: string, headers: RequestHeaders): Promise<Buffer> {
    const ask = this.url.startsWith('https:') ? request : http.request
    const options = { headers, rejectUnauthorized: false, agent: false }
    return new Promise((resolve, reject) => {
      const asked = ask(`${this.url}${path}`, options, response => {
        const { statusCode } = response
        const pieces: Buffer[] = []
        response.on('data', (piece: Buffer) => pieces.push(piece))
        response.on('error', reject)
        response.on('end', () => {
          if (statusCode === 200) resolve(Buffer.concat(pieces))
          else reject(new Error(`${this.name} answers ${path} with ${statusCode}`))
        })
      })
      asked.on('error', reject)
      asked.end()
    })
  }
}
