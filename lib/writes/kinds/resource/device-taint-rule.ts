/** DeviceTaintRules: taints of devices that an administrator sets (KEP 5055). */

import { type BuiltInKind, kind } from '../kind.ts'

export const deviceTaintRule: BuiltInKind = kind({
  group: 'resource.k8s.io',
  kind: 'DeviceTaintRule',
  plural: 'devicetaintrules',
  hasStatus: true,
  keepsMetadata: true,
  returnsDeleted: true,
  counted: ['spec'],
})
