/** A fleet in this process, with an etcd of ours for all of its clusters, each below a prefix of
 *  its own. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { load } from '../../../lib/cli/commands/command-line.ts'
import { checkFleetOptions, settingsReaderOf } from '../../../lib/cli/commands/serve-clusters.ts'
import { FleetProcess } from '../../../lib/cli/commands/fleet/fleet-process.ts'
import type { Fleet } from '../../../lib/cli/commands/fleet/fleet.ts'
import { startEmbeddedEtcd } from '../../../lib/etcd-server/embedded.ts'
import type { Client } from '../../../lib/etcd/client.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { type Said, sayingLogger } from '../saying-logger.ts'
import { silentLogger } from '../silent-logger.ts'

export interface StartedFleet {
  readonly fleet: Fleet
  readonly port: number
  readonly adminPort: number
  /** The file of `--clusters`, and what is written beside it. */
  readonly folder: string
  readonly said: readonly Said[]
  /** Reads the settings again. */
  reload(): Promise<void>
  stop(): Promise<void>
}

/** A folder that is removed with the test. */
export function temporaryFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'watchglass-fleet-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Starts it, on free ports; it ends with the test.
 *  @param clusters the value of `--clusters` within the folder */
export async function startFleet(
  t: Test,
  folder: string,
  {
    clusters,
    listen = 'http://127.0.0.1:0',
    args = [],
  }: {
    readonly clusters: string
    readonly listen?: string
    readonly args?: readonly string[]
  },
): Promise<StartedFleet> {
  const { logger, said } = sayingLogger()
  const line = [
    'serve',
    '--clusters',
    join(folder, clusters),
    '--listen',
    listen,
    '--admin-listen',
    'http://127.0.0.1:0',
    ...args,
  ]
  const invocation = load(line, {})
  if (invocation.kind !== 'run') throw new Error('nothing is run')
  const { values } = invocation
  checkFleetOptions(values)
  const reader = settingsReaderOf(values)
  const running = await FleetProcess.start({ values, logger: { ...logger, level: 'debug' } })
  t.teardown(() => running.stop())
  const { fleet } = running
  await running.begin(await reader.read())
  return {
    fleet,
    port: running.port,
    adminPort: running.adminPort,
    folder,
    said,
    reload: async () => fleet.apply(await reader.read()),
    stop: () => running.stop(),
  }
}

export interface SharedEtcd {
  readonly endpoint: string
  readonly client: Client
}

/** An etcd with a port, without a word. */
export async function startSharedEtcd(t: Test, port: number): Promise<SharedEtcd> {
  const listen = { address: `127.0.0.1:${port}`, tlsFiles: undefined, prefixes: [''] }
  const embedded = await startEmbeddedEtcd({
    listen,
    load: undefined,
    clock: systemClock,
    logger: silentLogger,
  })
  t.teardown(() => embedded.close())
  return { endpoint: `http://127.0.0.1:${port}`, client: embedded.createClient() }
}

/** Writes a file of clusters, or one that they name. */
export function write(folder: string, name: string, text: string): void {
  writeFileSync(join(folder, name), text)
}
