/** Label and field selectors: their grammar, and every label of every kind that has some. */

import { table } from '../media-types.ts'
import { type Part, matrix, widgets, withQuery } from './part.ts'

const labelSelectors: readonly string[] = [
  'v=1',
  'v==1',
  'v!=1',
  'v',
  '!v',
  'v in (1,2)',
  'v notin (1)',
  'v in (1, 2),half=lo',
  'half=lo,v',
  'v in ()',
  'v in (1',
  'v=',
  'v= ',
  '=v',
  '==',
  ',',
  'v=1,',
  ',v=1',
  'v=1,,half=lo',
  'v>0',
  'v<2',
  'v>x',
  'v > 0',
  'V=1',
  'v=a b',
  'a b=1',
  'a/b/c=1',
  'example.com/v=1',
  'x'.repeat(64),
  '!',
  '!!v',
  '!v=1',
  'in',
  'in in (in)',
  'notin notin (in)',
  'v in (1),v notin (1)',
  'v=ü',
  'v\n=1',
  '(v)',
  '1=1',
]

const fieldSelectors: readonly string[] = [
  'metadata.name=m-a',
  'metadata.name==m-a',
  'metadata.name!=m-a',
  'metadata.name=',
  'metadata.name',
  'metadata.namespace=matrix',
  'metadata.namespace=other',
  'metadata.name=m-a,metadata.namespace=matrix',
  'metadata.name=m-a,metadata.name=m-b',
  'metadata.uid=x',
  'spec.x=1',
  '=',
  ',',
  'metadata.name=a\\,b',
  'metadata.name=a\\=b',
  'metadata.name=a\\\\b',
  'metadata.name=a\\b',
  'metadata.name=m-a,',
  'foo',
  'metadata.name in (m-a)',
  '!metadata.name',
]

/** Selectors of each kind beside name and namespace. */
const kindSelectors: readonly (readonly [path: string, selectors: readonly string[]])[] = [
  [
    '/api/v1/pods',
    [
      'status.phase=Running',
      'status.phase!=Running',
      'spec.nodeName=',
      'spec.nodeName=worker-a',
      'spec.host=worker-a',
      'spec.restartPolicy=Never',
      'spec.schedulerName=default-scheduler',
      'spec.serviceAccountName=default',
      'spec.hostNetwork=true',
      'status.podIP=10.1.0.1',
      'status.podIPs=x',
      'status.nominatedNodeName=',
      'status.reason=x',
    ],
  ],
  [
    '/api/v1/nodes',
    ['spec.unschedulable=true', 'spec.unschedulable=false', 'metadata.namespace=x'],
  ],
  ['/api/v1/namespaces', ['status.phase=Active', 'status.phase=Terminating', 'name=shop']],
  ['/api/v1/secrets', ['type=Opaque', 'type!=Opaque']],
  ['/api/v1/services', ['spec.clusterIP=None', 'spec.type=NodePort', 'spec.type=ClusterIP']],
  ['/api/v1/replicationcontrollers', ['status.replicas=0']],
  ['/api/v1/persistentvolumes', ['name=x', 'metadata.name=x', 'metadata.namespace=x']],
  [
    '/api/v1/events',
    [
      'type=Warning',
      'reason=Started',
      'involvedObject.kind=Pod',
      'involvedObject.name=web-1',
      'involvedObject.namespace=shop',
      'involvedObject.uid=',
      'involvedObject.apiVersion=v1',
      'involvedObject.resourceVersion=',
      'involvedObject.fieldPath=',
      'source=kubelet',
      'reportingComponent=',
      'regarding.kind=Pod',
    ],
  ],
  [
    '/apis/events.k8s.io/v1/events',
    ['regarding.kind=Pod', 'reportingController=', 'source=kubelet'],
  ],
  ['/apis/apps/v1/replicasets', ['status.replicas=0']],
  ['/apis/batch/v1/jobs', ['status.successful=1', 'status.successful=0', 'status.active=1']],
  [
    '/apis/certificates.k8s.io/v1/certificatesigningrequests',
    ['spec.signerName=kubernetes.io/kube-apiserver-client', 'metadata.namespace=x'],
  ],
  ['/apis/resource.k8s.io/v1/resourceslices', ['spec.nodeName=worker-a', 'spec.driver=x']],
]

const customSelectors: readonly string[] = [
  'spec.color=red',
  'spec.color!=red',
  'spec.color=',
  'spec.color!=',
  'spec.size=10',
  'spec.size=0',
  'spec.size!=10',
  'spec.enabled=true',
  'spec.enabled=false',
  'spec.enabled=',
  'spec.unknown=1',
  'spec.color=red,spec.size=10',
  'metadata.name=blue',
  'metadata.namespace=shop',
  'spec.color',
]

export const selectors: Part = {
  name: 'selectors',
  what: 'label and field selectors, of each kind and of custom resources',
  async ask(recorder) {
    for (const labelSelector of labelSelectors) {
      await recorder.ask({ area: 'labels', path: withQuery(matrix, { labelSelector }) })
    }
    for (const fieldSelector of fieldSelectors) {
      await recorder.ask({ area: 'fields', path: withQuery(matrix, { fieldSelector }) })
    }
    for (const [path, ofKind] of kindSelectors) {
      for (const fieldSelector of [...ofKind, 'no.such=x']) {
        const selected = withQuery(path, { fieldSelector })
        await recorder.ask({ area: 'fields', path: selected, accept: table })
      }
    }
    for (const fieldSelector of customSelectors) {
      const selected = withQuery(widgets, { fieldSelector })
      await recorder.ask({ area: 'crd-fields', path: selected, accept: table })
    }
  },
}
