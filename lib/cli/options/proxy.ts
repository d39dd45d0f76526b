/** The options of `watchglass proxy`. */

import type { DefaultedOption, Option } from './option.ts'

export const portOption: DefaultedOption<number> = {
  name: 'port',
  value: 'PORT',
  fallback: '8001',
  help: 'The port to serve on, at 127.0.0.1. Port 0 picks a free port.',
  parse: text => (/^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined),
  wrong: 'is not a port from 0 to 65535',
}

export const kubeconfigOptions: readonly Option[] = [
  {
    name: 'context',
    value: 'NAME',
    help: 'The context of the kubeconfig; the current one if it is left out. Every client is the user of this context.',
  },
  {
    name: 'kubeconfig',
    value: 'FILE',
    help: 'The kubeconfig. If it is left out: those of KUBECONFIG, merged as kubectl merges them, or ~/.kube/config, or the service account of the pod.',
  },
]
