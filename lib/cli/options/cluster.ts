/** The options of an etcd in this process, and of generated data in any. */

import type { DefaultedOption, Option } from './option.ts'
import { dataFolderOptions } from './process.ts'
import { onlyEmbedded } from './etcd.ts'
import { given } from './rules.ts'

export const prefixOption: DefaultedOption<string> = {
  name: 'prefix',
  value: 'PATH',
  fallback: '/registry',
  help: "The prefix of all keys in etcd, as kube-apiserver's --etcd-prefix.",
  parse: text => (/^\/[^/]+(?:\/[^/]+)*$/.test(text) ? text : undefined),
  wrong: 'must begin with a slash and not end with one, such as /registry',
}

const seedMax = 2 ** 32 - 1

export const seedOption: DefaultedOption<number> = {
  name: 'seed',
  value: 'N',
  fallback: '1',
  help: 'The same seed generates the same objects, and draws the same times.',
  parse: text => (/^\d{1,10}$/.test(text) && Number(text) <= seedMax ? Number(text) : undefined),
  wrong: `is not a whole number from 0 to ${seedMax}`,
}

export const churnOption: Option = {
  name: 'churn',
  value: 'N/s',
  help: 'Keeps changing generated objects at this rate: leases, statuses, evictions, rollouts.',
  needs: [
    onlyEmbedded,
    { that: given('generate'), says: 'changes generated objects: add --generate' },
  ],
}

/** The options of generated clusters. */
export const clusterOptions: readonly Option[] = [prefixOption, churnOption, seedOption]

/** The options of a replay. */
export const replayOptions: readonly Option[] = [
  {
    name: 'speed',
    value: 'SPEED',
    help: 'Replays the changes of --load instead of loading them at once: 1x, 10x (of the recorded speed), 100/s (revisions) or max. Times in objects are moved to now.',
    needs: [onlyEmbedded, { that: given('load'), says: 'replays a recording: add --load FILE' }],
  },
  {
    name: 'loop',
    help: 'Starts the replay again when it is over, from the first contents.',
    needs: [{ that: given('speed'), says: 'repeats what --speed replays: add --speed' }],
  },
]

/** The options of `--etcd embedded`. */
export const embeddedOptions: readonly Option[] = [
  ...dataFolderOptions,
  {
    name: 'generate',
    value: 'KIND=COUNT[,KIND=COUNT...]',
    help: 'Fills the embedded etcd with a generated cluster, such as pods=1000. See the command generate.',
    needs: [onlyEmbedded],
  },
  {
    name: 'load',
    value: 'FILE',
    help: 'Fills the embedded etcd with a history that the command record wrote, a recording of kwokctl, objects in YAML or JSON, a trace of SimKube (version 2), or a folder of `kubectl cluster-info dump` or must-gather. The format is recognized by the contents. A file that ends in .gz is decompressed.',
    needs: [onlyEmbedded],
  },
  ...replayOptions,
]
