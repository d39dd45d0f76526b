/** The subresource `scale` in forms that it does not have. */

import t from 'tap'
import { scaleBody } from '../../lib/kube/scale.ts'
import { builtInResources } from '../../lib/kube/resources/built-ins.ts'
import { schemaOf } from '../../lib/codec/schema/schema.ts'
import { registryAt } from '../support/kube/kube-golden.ts'
import { entryOf, shownAs, widgetEncoder } from '../support/kube/outputs.ts'

t.test('a Scale is no list, and is named as Go names its type', async t => {
  const form = shownAs({ rendering: 'PartialObjectMetadataList' })
  const asked = { encoder: widgetEncoder(), form, entry: entryOf('x', Buffer.from('{}')) }
  const custom = registryAt(708).resources.find(({ kind }) => kind === 'Widget')!
  const deployments = builtInResources(schemaOf()).find(
    ({ resource }) => resource === 'deployments',
  )!
  t.throws(() => scaleBody(custom, { isPretty: false }, asked), /\(\*v1\.Scale\)/)
  t.throws(() => scaleBody(deployments, { isPretty: false }, asked), /\(\*autoscaling\.Scale\)/)
})
