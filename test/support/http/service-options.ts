/** The options of a service as tests write them: one beside the other, most of them left out. */

import type { WriteSideOptions } from '../../../lib/simulator/write-side.ts'
import type {
  AccessOptions,
  ListeningOptions,
  MemoryOptions,
  MirroredEtcds,
  OperatingOptions,
  ServedOptions,
  ServiceOptions,
  AttachedOptions,
} from '../../../lib/cli/compose/service-options.ts'
import { silentLogger } from '../silent-logger.ts'

export type TestOptions = Partial<MirroredEtcds> &
  Partial<ListeningOptions> &
  ServedOptions &
  AccessOptions &
  OperatingOptions &
  MemoryOptions &
  Omit<AttachedOptions, 'writes'> &
  WriteSideOptions &
  Partial<Pick<ServiceOptions, 'logger' | 'clock' | 'tracer'>> & {
    /** Writes are done here. */
    readonly isWritable?: boolean | undefined
  }

/** On a port of its own, without a word, below `/registry`, unless something else is asked for. */
export function serviceOptions(
  options: TestOptions & Pick<MirroredEtcds, 'client'>,
): ServiceOptions {
  const { client, others, prefix = '/registry', limits } = options
  const { listen = { protocol: 'http', host: '127.0.0.1', port: 0 }, tls, address } = options
  const { schema, configured, excluded, only, isKept, hasCbor, hasShards, hasDrop } = options
  const { tokenEncryption, guardedHosts, compressesWatches, namespaces } = options
  const { adminListen, levelledLogger, certificateFiles, stopDelayMs } = options
  const { isWritable, hasControllers, simulation, basics, generated, access, admission, webhooks } =
    options
  const { faults, upstream, source, workers, copies, replica } = options
  const writes = {
    hasControllers,
    simulation,
    basics,
    generated,
    access,
    admission,
    webhooks,
    signing: options.signing,
  }
  return {
    etcd: { client, others, prefix, limits },
    listening: { listen, tls, address, guardedHosts, compressesWatches },
    served: {
      schema,
      configured,
      excluded,
      only,
      isKept,
      namespaces,
      hasCbor,
      hasShards,
      hasDrop,
      tokenEncryption,
    },
    access: { authorization: options.authorization, audit: options.audit },
    operating: { adminListen, levelledLogger, certificateFiles, stopDelayMs },
    memory: { budgetBytes: options.budgetBytes, segmentsMaxBytes: options.segmentsMaxBytes },
    attached: {
      writes: isWritable === true ? writes : undefined,
      faults,
      upstream,
      source,
      workers,
      copies,
      replica,
    },
    logger: options.logger ?? silentLogger,
    clock: options.clock,
    tracer: options.tracer,
  }
}
