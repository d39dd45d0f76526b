/** The embedded etcd of `serve --etcd embedded`: the engine, the history that is loaded into it,
 *  the folder that keeps its state, and access in process and over gRPC. */

import { CacheError, type Clock, type Logger } from '@watchglass/base'
import type { EtcdListen } from './listen-settings.ts'
import { type Client, OwnRevision } from '@watchglass/etcd'
import type { DataFolderOptions } from './journal/data-folder-settings.ts'
import { EngineClient } from './engine/client.ts'
import { Engine } from './engine/engine.ts'
import { DirectNetwork } from './engine/network.ts'
import { createDirectScheduler } from './engine/scheduler.ts'
import type { DataFolder } from './journal/data-folder.ts'
import type { EtcdServer } from './server.ts'
import { followTls, OpenFiles, openFilesMax, readTls, systemRandom } from '@watchglass/cache'

export interface EmbeddedEtcdOptions {
  /** Listener of etcd's own API; none if it is left out. */
  readonly listen: EtcdListen | undefined
  /** Loads a recorded history to begin with. */
  readonly load: ((engine: Engine) => Promise<void>) | undefined
  /** The folder of state that lasts; in memory only if it is left out. */
  readonly dataFolder?: DataFolderOptions | undefined
  /** Fills an etcd that has nothing yet, before anything is kept or served: a folder has all of it
   *  or is still new. */
  readonly fill?: ((client: Client) => Promise<void>) | undefined
  /** For leases, and for looking at certificates again. */
  readonly clock: Clock
  readonly logger: Logger
}

export interface EmbeddedEtcd {
  /** True if everything comes from the data folder: nothing was loaded or filled in. */
  readonly isRecovered: boolean
  /** Creates a client in this process. */
  createClient(): Client
  close(): Promise<void>
}

/** Kubernetes compacts etcd so often. */
const historyMinAgeMs = 5 * 60_000

/** The size of the history at which its older half is compacted: only clients compact otherwise,
 *  and the process must not grow for ever. A change weighs about 2 KB and the value before it
 *  (lib/store/history.ts). */
const historyMaxBytes = 1024 ** 3

export async function startEmbeddedEtcd(options: EmbeddedEtcdOptions): Promise<EmbeddedEtcd> {
  const { listen, load, fill, dataFolder, clock, logger } = options
  if (listen?.rules !== undefined) throw cannotLimit()
  const folder = dataFolder && (await openFolder(dataFolder, options))
  const scheduler = createDirectScheduler(clock)
  const engine = new Engine({
    clock,
    random: systemRandom,
    scheduler,
    members: [{ endpoint: listen === undefined ? 'embedded' : urlOf(listen) }],
    historyMaxBytes,
    historyMinAgeMs,
    ownRevision: new OwnRevision(),
    recovered: folder?.recovered,
  })
  const network = new DirectNetwork(scheduler)
  const createClient = (): Client => new EngineClient({ engine, network })
  const isRecovered = folder?.recovered !== undefined
  let journal: { close(): Promise<void> } | undefined
  let server: EtcdServer | undefined
  try {
    // At once: a lease that ends from here on is kept.
    if (isRecovered) journal = await folder?.begin(engine)
    if (isRecovered && (load ?? fill) !== undefined) {
      logger.info('the data folder has a cluster already: nothing is loaded or generated')
    } else {
      await load?.(engine)
      await fill?.(createClient())
      // Nobody has seen how it was filled: as what is loaded, it comes without its past.
      if (fill !== undefined && engine.revision > engine.compactRevision) {
        engine.compact(engine.revision)
      }
    }
    journal ??= await folder?.begin(engine)
    server = listen === undefined ? undefined : await serveEngine(engine, listen, options)
  } catch (error) {
    await (journal ?? folder)?.close()
    engine.close()
    throw error
  }
  const kept = dataFolder === undefined ? 'everything in memory only' : 'its state in a folder'
  logger.warn(`the embedded etcd keeps ${kept}: it is not for production`, {
    etcd: server?.address,
    version: engine.version,
    folder: dataFolder?.folder,
  })
  return {
    isRecovered,
    createClient,
    async close() {
      await server?.close()
      await journal?.close()
      engine.close()
    },
  }
}

/** Loads the code of files only where there are some. */
async function openFolder(
  dataFolder: DataFolderOptions,
  { clock, logger }: EmbeddedEtcdOptions,
): Promise<DataFolder> {
  const { openDataFolder } = await import('./journal/data-folder.ts')
  return openDataFolder({ ...dataFolder, clock, logger })
}

async function serveEngine(
  engine: Engine,
  { address, tlsFiles: files }: EtcdListen,
  { clock, logger }: EmbeddedEtcdOptions,
): Promise<EtcdServer> {
  const { startEtcdServer } = await import('./server.ts')
  const tls = files && (await readTls(files))
  const server = await startEtcdServer({
    engine,
    listen: address,
    tls,
    openFiles: new OpenFiles({ max: openFilesMax(), callers: 'clients', clock, logger }),
  })
  const stopFollowing = followTls({
    files,
    what: 'certificates of --etcd-listen',
    current: tls,
    onChange: renewed => server.renewTls(renewed),
    clock,
    logger,
  })
  return {
    ...server,
    async close() {
      stopFollowing()
      await server.close()
    },
  }
}

/** Clients would take it for a limit, and there is none. */
function cannotLimit(): CacheError {
  const message = '--etcd-listen-allow cannot be used with --etcd embedded, which has no limits'
  return new CacheError('invalid_request', message)
}

function urlOf({ address, tlsFiles }: EtcdListen): string {
  return `${tlsFiles === undefined ? 'http' : 'https'}://${address}`
}
