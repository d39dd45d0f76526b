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

  /** When the first certificate of each file ends that can be read. */
  async read(): Promise<ReadonlyMap<string, number>> {
    const dates = new Map<string, number>()
    for (const { option, path } of this.#files) {
      const endsMs = await this.#endOf(path)
      if (endsMs !== undefined) dates.set(option, endsMs)
    }
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
      // Whoever uses the file says that it cannot be read. Here it has no date.
      return undefined
    }
  }
}

/** The gauge of the dates. */
export function certificateGauge(dates: CertificateDates): Gauge {
  return new Gauge({
    name: 'watchglass_certificate_expiry_timestamp_seconds',
    help: 'When the certificates of a file end, in seconds since 1970; of several the first. By the option that names the file.',
    labelNames: ['option'],
    registers: [],
    async collect() {
      this.reset()
      for (const [option, endsMs] of await dates.read()) this.set({ option }, endsMs / 1000)
    },
  })
}

function earliestEnd(pem: string): number | undefined {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  const ends = blocks.map(block => Date.parse(new X509Certificate(block).validTo))
  return ends.length === 0 ? undefined : Math.min(...ends)
}
