/** When the certificates that the process uses end. Files are read again when metrics are scraped
 *  and they have changed. */

import { X509Certificate } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { Gauge } from 'prom-client'

/** A file with certificates (PEM), by the option that names it. */
export interface CertificateFile {
  readonly option: string
  readonly path: string
}

interface Known {
  readonly mtimeMs: number
  /** Undefined: there is no certificate in the file. */
  readonly endsMs: number | undefined
}

export class CertificateDates {
  readonly #files: readonly CertificateFile[]
  readonly #known = new Map<string, Known>()

  constructor(files: readonly CertificateFile[]) {
    this.#files = files
  }

  /** When the first certificate of each file ends; undefined where none can be read. */
  async read(): Promise<ReadonlyMap<string, number | undefined>> {
    const dates = new Map<string, number | undefined>()
    for (const { option, path } of this.#files) dates.set(option, await this.#endOf(path))
    return dates
  }

  async #endOf(path: string): Promise<number | undefined> {
    try {
      const { mtimeMs } = await stat(path)
      const known = this.#known.get(path)
      if (known?.mtimeMs === mtimeMs) return known.endsMs
      const endsMs = earliestEnd(await readFile(path, 'utf8'))
      this.#known.set(path, { mtimeMs, endsMs })
      return endsMs
    } catch {
      // Whoever uses the file says why it cannot be read.
      return undefined
    }
  }
}

/** The gauges of the dates, and of files without any. */
export function certificateGauges(dates: CertificateDates): Gauge[] {
  const gauge = (
    name: string,
    help: string,
    valueOf: (endsMs: number | undefined) => number | undefined,
  ): Gauge =>
    new Gauge({
      name: `watchglass_certificate_${name}`,
      help: `${help} By the option that names the file.`,
      labelNames: ['option'],
      registers: [],
      async collect() {
        this.reset()
        for (const [option, endsMs] of await dates.read()) {
          const value = valueOf(endsMs)
          if (value !== undefined) this.set({ option }, value)
        }
      },
    })
  return [
    gauge(
      'expiry_timestamp_seconds',
      'When the certificates of a file end, in seconds since 1970; of several the first.',
      endsMs => endsMs && endsMs / 1000,
    ),
    gauge(
      'unreadable',
      '1 while a file has no certificate that can be read: the one that was read before stays in use.',
      endsMs => Number(endsMs === undefined),
    ),
  ]
}

function earliestEnd(pem: string): number | undefined {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  const ends = blocks.map(block => Date.parse(new X509Certificate(block).validTo))
  return ends.length === 0 ? undefined : Math.min(...ends)
}
