/** The rows of the data files, typed (FORMAT.md). Each may be limited to some minor versions; a
 *  `Schema` has those of one. */

/** The containers of a field: one value, a list, or a map with text keys. Never nested. */
export type Container = 'single' | 'list' | 'map'

export interface MessageField {
  /** Empty for an inline field. */
  readonly jsonName: string
  readonly number: number
  readonly container: Container
  /** Type of the value, the element or the map's value: a scalar, a special, or the name of a
   *  message. */
  readonly type: string
  /** Left out of JSON when it is zero, absent or empty (`omitempty`). */
  readonly isOmittedWhenEmpty: boolean
  /** Left out of JSON when it is a zero time (`omitzero`). */
  readonly isOmittedWhenZero: boolean
  readonly isPointer: boolean
  /** Its JSON members belong to the parent, at this place; in protobuf it is a nested message. */
  readonly isInline: boolean
  /** Merging rules, for patches and the ownership of fields (KEP-555, server-side apply). */
  readonly merging: FieldMerging
}

export type ListType = 'atomic' | 'set' | 'map'
export type MapType = 'atomic' | 'granular'

/** The rules by which writes of several clients to one field are merged. */
export interface FieldMerging {
  /** x-kubernetes-list-type; absent is atomic. */
  readonly listType?: ListType | undefined
  /** The members that tell items of a list of type `map` apart. */
  readonly listKeys?: readonly string[] | undefined
  /** x-kubernetes-map-type of the field; absent is that of its type, or granular. */
  readonly mapType?: MapType | undefined
  /** Strategies of strategic merge patches: some of `merge`, `replace` and `retainKeys`. */
  readonly patchStrategy?: readonly string[] | undefined
  /** The member that tells items apart in strategic merge patches. */
  readonly patchKey?: string | undefined
}

export type MessageForm = 'object' | 'wrap' | 'orbool' | 'orarray' | 'orstringarray'

/** A built-in REST resource, as in resources.json. */
export interface BuiltInResource {
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly singular: string
  readonly kind: string
  readonly listKind: string | null
  readonly namespaced: boolean
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly verbs: readonly string[]
  readonly subresources: readonly Subresource[]
  readonly defaultServed: boolean
  readonly preferredVersion: boolean
  readonly storageVersionHash?: string
  readonly storage: BuiltInStorage | null
  readonly fieldLabels?: readonly FieldLabel[]
  readonly fieldLabelError?: string
  readonly otherVersions?: readonly OtherVersion[]
}

export interface Subresource {
  readonly name: string
  readonly kind: string
  readonly verbs: readonly string[]
  /** Only when the body is of another group and version. */
  readonly group?: string | undefined
  readonly version?: string | undefined
  /** Paths of the scale of custom resources. */
  readonly scale?: ScalePaths | undefined
}

/** The paths of a custom resource's numbers, as `.spec.replicas`; without a path, there is no
 *  selector. */
export interface ScalePaths {
  readonly specReplicas: string
  readonly statusReplicas: string
  readonly labelSelector: string
}

/** The place and the form of a resource in etcd. */
export interface BuiltInStorage {
  /** With a slash at the end: `/registry/pods/`. */
  readonly prefix: string
  readonly key: '{namespace}/{name}' | '{name}'
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly encoding: 'protobuf' | 'json'
  readonly conversion: 'same' | 'relabel' | 'convert'
}

/** A label of a field selector: its value is the first non-empty of `paths`, else `default`. */
export interface FieldLabel {
  readonly label: string
  readonly paths: readonly string[]
  readonly default: string
}

export interface OtherVersion {
  readonly group: string
  readonly version: string
  readonly defaultServed: boolean
}

/** The Table of a resource. */
export interface ResourceTable {
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly columnDefinitions: readonly ColumnDefinition[]
}

export interface ColumnDefinition {
  readonly name: string
  readonly type: string
  readonly format: string
  readonly description: string
  readonly priority: number
}

/** A default that the server applies to what it decodes, from etcd or from a request: a row of
 *  read-defaults.json or more-defaults.json (FORMAT.md, section 4). Compiled views, trees and checks
 *  are made of it. It has one of `value`, `from`, `keysFrom`, `mirrors`, `firstOf` and `compute`; a
 *  row with none says only that the server would change the field. */
export interface ReadDefault {
  /** Name of the rule in reasons, where several rows or more than a value make one. */
  readonly id?: string
  readonly type: string
  /** The field, or a path of fields that begins in the type. Absent where a computation changes the
   *  message as a whole. */
  readonly field?: string
  /** Takes the place of a field that is zero; `null` takes the field away. */
  readonly value?: unknown
  /** Sibling of which the field becomes a copy, or that `compute` gets. */
  readonly from?: string
  /** The copy is the sibling itself, so that what a create adds to one is in the other. */
  readonly isShared?: boolean
  /** Sibling map whose keys the field gets where it lacks them. */
  readonly keysFrom?: string
  /** Sibling that always says the same; it wins where both are set. */
  readonly mirrors?: string
  /** Sibling that is the first item of this list, or that item's `member`; it wins where both are
   *  set. */
  readonly firstOf?: string
  readonly member?: string
  /** Name of a function (served/stored/computations.ts): of the value of `from`, or of the whole
   *  message, of which it reads the paths in `reads`. */
  readonly compute?: string
  readonly reads?: readonly string[]
  /** States of the stored siblings, all of which must hold. Without one on the field itself, the
   *  field has to be zero. */
  readonly when?: Readonly<Record<string, FieldState>>
  /** Applies only inside objects of this kind. */
  readonly root?: string
  /** Applies only at this field path. */
  readonly path?: string
  /** Go asks whether the field is nil: one that is there and empty gets no default, and is not
   *  exact when it is read, as protobuf loses it. */
  readonly emptyIsSet?: boolean
  /** Servers that do not behave so do not apply it. */
  readonly behaviour?: Behaviour
  /** The programs that apply it; all that can, where it is absent. A view checks what it does not
   *  apply. */
  readonly by?: readonly DefaultApplier[]
  /** False where no view looks for it: no server has ever stored what it would change. */
  readonly isChecked?: false
}

/** Compiled views of stored protobuf, trees of stored values, and trees of what comes in requests. */
export type DefaultApplier = 'view' | 'stored' | 'request'

/** The state of a field that a default depends on. `in` and `notIn` take the default of an absent
 *  field for its value. */
export type FieldState =
  | 'absent'
  | 'set'
  | 'empty'
  | 'negative'
  | 'true'
  | { readonly in: readonly string[] }
  | { readonly notIn: readonly string[] }

/** A change that the server makes on read even to values that a kube-apiserver wrote. */
export interface ReadFixup {
  readonly type: string
  readonly field: string
  /** The value of an empty field. */
  readonly whenEmpty?: string
  /** Type that the list's elements carry in JSON. */
  readonly apiVersion?: string
  readonly kind?: string
}

/** Something that servers of some minors do in another way than others. behaviours.json says which,
 *  and what each name means. */
export type Behaviour =
  | 'podErrorOverCompleted'
  | 'jobSuccessCriteriaMet'
  | 'serviceAccountSecrets'
  | 'ingressClassDefault'
  | 'volumeAttributesClassDefault'
  | 'nodeArchitecture'
  | 'resourceQuotaAgeLast'
  | 'labelKeyTexts'
  | 'repeatedCommas'
  | 'acceptBeforeOptions'
  | 'unsupportedValueAsJson'
  | 'watchList'
  | 'snapshotLists'
  | 'initialEventsBlueprint'
  | 'podLevelRequests'
  | 'zeroTargetValues'
  | 'imageVolumes'
  | 'podResize'
  | 'podTopologyLabels'
  | 'podResizeFits'
  | 'claimPermissions'
  | 'anyCpuTarget'
  | 'endpointsWarning'
  | 'shardsAreSelectors'
  | 'zippedStreams'

/** The minors of which a row is true; both ends are included. */
export interface Period {
  readonly since?: string
  readonly until?: string
}
