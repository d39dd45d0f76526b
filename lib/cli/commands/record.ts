/** `watchglass record`: writes what is in an etcd, and what happens there until it is stopped, to a
 *  file. `watchglass save`: the same without what happens. */

import { createHmac, randomBytes } from 'node:crypto'
import { schemaOf } from '@watchglass/codec'
import type { Anonymizer } from '@watchglass/simulator'
import { load } from '../compose/loaded-code.ts'
import { AnonymousTarget } from './recordings/anonymous-target.ts'
import {
  allKeys,
  CacheError,
  keyFromText,
  prefixRange,
  revision,
  type Revision,
} from '@watchglass/base'
import { etcdConnection } from './plan/etcd-connection.ts'
import { GrpcClient } from '@watchglass/etcd'
import { RecordingWriter } from './recordings/recording.ts'
import { createForeignWriter, type ForeignWriter } from './recordings/foreign.ts'
import type { FileAccess } from './recordings/text-file.ts'
import { defaultLimits, systemClock, systemRandom } from '@watchglass/cache'
import { record as recordEtcd } from './recordings/recorder.ts'
import { progressOnStderr } from './progress.ts'
import type { CommandContext } from './context.ts'

export function record(context: CommandContext): Promise<number> {
  const path = context.values.text('out')
  if (path === undefined) {
    throw new CacheError('invalid_request', 'record needs --out FILE, such as history.jsonl.gz')
  }
  return recordTo(path, context, { isBaseOnly: false })
}

export function save(context: CommandContext): Promise<number> {
  const [path, another] = context.operands
  if (path === undefined || another !== undefined) {
    throw new CacheError('invalid_request', 'save needs one FILE, such as cluster.jsonl.gz')
  }
  return recordTo(path, context, { isBaseOnly: true })
}

async function recordTo(
  path: string,
  { values, logger, signal }: CommandContext,
  { isBaseOnly }: { readonly isBaseOnly: boolean },
): Promise<number> {
  const prefix = values.text('prefix')
  const from = revisionFromText(values.text('revision'))
  const anonymizer = values.switch('anonymize') ? await createAnonymizer() : undefined
  const client = new GrpcClient(etcdConnection(values))
  const progress = progressOnStderr()
  let writer: Writer | undefined
  try {
    await checkReachable(client, signal)
    const report = await recordEtcd({
      client,
      clock: systemClock,
      random: systemRandom,
      limits: defaultLimits,
      logger,
      range: prefix === undefined ? allKeys : prefixRange(keyFromText(prefix)),
      revision: from,
      isBaseOnly,
      createTarget: async clusterId => {
        await writer?.close()
        const isShared = anonymizer !== undefined
        writer = await createWriter(values.text('format'), path, {
          access: isShared ? 'shared' : 'private',
          // Under pseudonyms it is of no etcd.
          clusterId: isShared ? undefined : clusterId,
        })
        return anonymizer === undefined ? writer : new AnonymousTarget(writer, anonymizer, logger)
      },
      onReport: ({ entries, changes, revision: at }) => {
        const objects = `${entries.toLocaleString('en-US')} objects`
        progress.show(
          isBaseOnly
            ? `saving: ${objects}`
            : `recording: ${objects}, ${changes.toLocaleString('en-US')} changes, revision ${at}; Ctrl-C ends it`,
        )
      },
      signal,
    })
    progress.clear()
    logger.info(isBaseOnly ? 'saved' : 'recorded', { file: path, ...report })
  } finally {
    progress.clear()
    await writer?.close()
    await client.close()
  }
  return 0
}

type Writer = RecordingWriter | ForeignWriter

function createWriter(
  format: string | undefined,
  path: string,
  { access, clusterId }: { readonly access: FileAccess; readonly clusterId: bigint | undefined },
): Promise<Writer> {
  const nowMs = (): number => Math.round(systemClock.wallMs())
  return format === 'kwok' || format === 'simkube'
    ? createForeignWriter(format, path, nowMs, access)
    : RecordingWriter.create(path, nowMs, access, clusterId)
}

/** Fails at once if no member of etcd answers at the start. A member that is lost later is waited
 *  for. */
async function checkReachable(client: GrpcClient, signal: AbortSignal): Promise<void> {
  const patience = AbortSignal.timeout(reachMs)
  const statuses = await client.status(AbortSignal.any([signal, patience]))
  const failures = statuses.flatMap(status => ('failure' in status ? status : []))
  const [first] = failures
  if (signal.aborted || first === undefined || failures.length < statuses.length) return
  throw new CacheError('source_failed', `no etcd can be reached: ${first.failure.message}`, {
    cause: first.failure,
  })
}

const reachMs = 10_000

/** The pseudonyms follow from a secret that is forgotten with the process: nobody can try names
 *  until one fits. */
async function createAnonymizer(): Promise<Anonymizer> {
  const { Anonymizer } = await load.anonymizer()
  const secret = randomBytes(32)
  return new Anonymizer(schemaOf(), text => createHmac('sha256', secret).update(text).digest())
}

function revisionFromText(text: string | undefined): Revision | undefined {
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,15}$/.test(text)) {
    throw new CacheError('invalid_request', `--revision "${text}" is not a revision of etcd`)
  }
  return revision(Number(text))
}
