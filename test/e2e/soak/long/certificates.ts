/** The files that the programs were given, which change while they run. */

import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Teardown } from '../../../support/etcd/etcd-cluster.ts'

const made = 'test/support/certs'

export const authorityFile: string = `${made}/ca.pem`

/** Pairs that take turns: names of files in test/support/certs. */
const turns = {
  listener: ['server', 'renewed'],
  client: ['client', 'server'],
} as const

export class Certificates {
  readonly #folder = mkdtempSync(join(tmpdir(), 'watchglass-soak-'))
  changes = 0

  constructor(scope: Teardown) {
    this.#write()
    scope.teardown(async () => rmSync(this.#folder, { recursive: true }))
  }

  path(name: string): string {
    return join(this.#folder, name)
  }

  /** Key and certificate are written one after the other, as most tools do: for a moment they do
   *  not fit. */
  change(): void {
    this.changes++
    this.#write()
  }

  #write(): void {
    for (const [name, pairs] of Object.entries(turns)) {
      const pair = pairs[this.changes % 2]!
      cpSync(join(made, `${pair}.key`), this.path(`${name}.key`))
      cpSync(join(made, `${pair}.pem`), this.path(`${name}.pem`))
    }
    cpSync(authorityFile, this.path('ca.pem'))
    writeFileSync(this.path('token'), `soak-${this.changes}\n`)
  }
}
