//! Everything that a client can be refused for, with the service's status, code and words: the only place that has them.

#![warn(clippy::wildcard_enum_match_arm)]

use hyper::StatusCode;
use tablegate_store::model::limits::{EGT_MAX_OPERATIONS, FILTER_COMPARISONS_MAX};
use tablegate_store::model::{KeyError, KeyPart, NameError, PropertyError};
use tablegate_store::table::{BatchError, CommitError, Rejection, StoreError};
use thiserror::Error;

/// What a handler comes to.
pub(crate) type RestResult<T> = Result<T, Refusal>;

/// Why a request is not carried out. The text of a variant is the message that a client reads.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum Refusal {
    #[error("One of the request inputs is not valid.")]
    InvalidInput,
    /// An input that is not valid, and what is wrong with it.
    #[error("{0}")]
    BadInput(String),
    #[error("Syntax error at position {position} in '{text}'.")]
    Syntax { position: usize, text: String },
    #[error(
        "The filter has {0} comparisons; the service takes {FILTER_COMPARISONS_MAX}. Ask for less, or split the query."
    )]
    TooManyComparisons(usize),
    #[error("The '{part}' parameter of value '{value}' is out of range.")]
    KeyOutOfRange { part: KeyPart, value: String },
    #[error("The specifed resource name contains invalid characters.")]
    InvalidResourceName,
    #[error("The specified resource name length is not within the permissible limits.")]
    ResourceNameLength,
    #[error("The values are not specified for all properties in the entity.")]
    PropertiesNeedValue,
    #[error("The property name is invalid.")]
    PropertyNameInvalid,
    #[error("The property name exceeds the maximum allowed length (255).")]
    PropertyNameTooLong,
    #[error(
        "The property value exceeds the maximum allowed size (64KB). If the property value is a string, it is UTF-16 \
         encoded and the maximum number of characters should be 32K or less."
    )]
    PropertyValueTooLarge,
    #[error(
        "The entity contains more properties than allowed. Each entity can include up to 252 properties to store \
         data. Each entity also has 3 system properties."
    )]
    TooManyProperties,
    #[error("The entity is larger than the maximum allowed size (1MB).")]
    EntityTooLarge,
    #[error("A property is specified more than one time.")]
    DuplicateProperty,
    #[error(
        "The batch request contains multiple changes with same row key. An entity can appear only once in a batch request."
    )]
    DuplicateRow,
    #[error("All commands in a batch must operate on same entity group.")]
    OtherPartition,
    #[error("The batch request operation exceeds the maximum {EGT_MAX_OPERATIONS} changes per change set.")]
    TooManyOperations,
    #[error("The X-HTTP-Method header is used with a verb that is not POST.")]
    MethodNotOfPost,
    #[error("The X-HTTP-Method specified is not valid.")]
    MethodUnknown,
    #[error("The value for one of the HTTP headers is not in the correct format.")]
    InvalidHeader,
    #[error("An HTTP header that's mandatory for this request is not specified.")]
    MissingHeader,
    #[error("Value for one of the query parameters specified in the request URI is invalid.")]
    InvalidQueryParameter,
    #[error("XML specified is not syntactically valid.")]
    InvalidXml,
    #[error("Authentication information is not given in the correct format. Check the value of Authorization header.")]
    InvalidAuthentication,
    #[error("The server does not take tokens: it knows no issuer of any.")]
    NoTokens,
    /// A token that does not hold, or nothing that says who sends the request. Whose tokens hold here, and for whom, is told.
    #[error(
        "Server failed to authenticate the request. Please refer to the information in the www-authenticate header."
    )]
    TokenNeeded { one_came: bool, issuer: String, audience: String },
    #[error(
        "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly \
         including the signature."
    )]
    NotAuthenticated,
    #[error("This request is not authorized to perform this operation.")]
    NotAuthorized,
    #[error("This request is not authorized to perform this operation using this permission.")]
    NoPermission,
    #[error("This request is not authorized to perform this operation using this resource type.")]
    NotThisResourceType,
    #[error("This request is not authorized to perform this operation using this service.")]
    NotThisService,
    #[error("This request is not authorized to perform this operation using this protocol.")]
    NotThisProtocol,
    #[error("This request is not authorized to perform this operation using this source IP.")]
    NotThisAddress,
    #[error("The account being accessed does not have sufficient permissions to execute this operation.")]
    ReadOnly,
    #[error("Write operations are not allowed.")]
    SecondaryIsReadOnly,
    #[error("CORS not enabled or no matching rule found for this request.")]
    NoCorsRule,
    #[error("The table specified does not exist.")]
    TableMissing,
    #[error("The specified resource does not exist.")]
    Missing,
    #[error("The resource doesn't support specified Http Verb.")]
    WrongVerb,
    #[error("The table specified already exists.")]
    TableExists,
    #[error("The specified table is being deleted. Try operation later.")]
    TableBeingDeleted,
    /// What SQL has made depends on the table.
    #[error("The table cannot be deleted: {0}")]
    TableInUse(String),
    #[error("The specified entity already exists.")]
    EntityExists,
    #[error("The update condition specified in the request was not satisfied.")]
    ConditionNotMet,
    #[error("The request body is too large and exceeds the maximum permissible limit.")]
    BodyTooLarge,
    #[error("Atom format is not supported.")]
    AtomNotSupported,
    #[error("None of the provided media types are supported")]
    MediaNotSupported,
    #[error("Server encountered an internal error. Please try again after some time.")]
    Internal,
    #[error("Operation could not be completed within the specified time.")]
    TimedOut,
    #[error("The requested operation is not implemented on the specified resource.")]
    NotImplemented,
    #[error("The server is currently unable to receive requests. Please retry your request.")]
    Busy,
}

impl Refusal {
    /// The status, and the code that clients go by.
    pub(crate) fn code(&self) -> (StatusCode, &'static str) {
        use Refusal as R;
        match self {
            R::InvalidInput | R::BadInput(_) | R::Syntax { .. } | R::TooManyComparisons(_) | R::TooManyOperations => {
                (StatusCode::BAD_REQUEST, "InvalidInput")
            }
            R::KeyOutOfRange { .. } | R::ResourceNameLength => (StatusCode::BAD_REQUEST, "OutOfRangeInput"),
            R::InvalidResourceName => (StatusCode::BAD_REQUEST, "InvalidResourceName"),
            R::PropertiesNeedValue => (StatusCode::BAD_REQUEST, "PropertiesNeedValue"),
            R::PropertyNameInvalid => (StatusCode::BAD_REQUEST, "PropertyNameInvalid"),
            R::PropertyNameTooLong => (StatusCode::BAD_REQUEST, "PropertyNameTooLong"),
            R::PropertyValueTooLarge => (StatusCode::BAD_REQUEST, "PropertyValueTooLarge"),
            R::TooManyProperties => (StatusCode::BAD_REQUEST, "TooManyProperties"),
            R::EntityTooLarge => (StatusCode::BAD_REQUEST, "EntityTooLarge"),
            R::DuplicateProperty => (StatusCode::BAD_REQUEST, "DuplicatePropertiesSpecified"),
            R::DuplicateRow => (StatusCode::BAD_REQUEST, "InvalidDuplicateRow"),
            R::OtherPartition => (StatusCode::BAD_REQUEST, "CommandsInBatchActOnDifferentPartitions"),
            R::MethodNotOfPost => (StatusCode::BAD_REQUEST, "XMethodNotUsingPost"),
            R::MethodUnknown => (StatusCode::BAD_REQUEST, "XMethodIncorrectValue"),
            R::InvalidHeader => (StatusCode::BAD_REQUEST, "InvalidHeaderValue"),
            R::MissingHeader => (StatusCode::BAD_REQUEST, "MissingRequiredHeader"),
            R::InvalidQueryParameter => (StatusCode::BAD_REQUEST, "InvalidQueryParameterValue"),
            R::InvalidXml => (StatusCode::BAD_REQUEST, "InvalidXmlDocument"),
            R::InvalidAuthentication => (StatusCode::BAD_REQUEST, "InvalidAuthenticationInfo"),
            R::NoTokens | R::TokenNeeded { one_came: true, .. } => {
                (StatusCode::UNAUTHORIZED, "InvalidAuthenticationInfo")
            }
            R::TokenNeeded { one_came: false, .. } => (StatusCode::UNAUTHORIZED, "NoAuthenticationInformation"),
            R::NotAuthenticated => (StatusCode::FORBIDDEN, "AuthenticationFailed"),
            R::NotAuthorized => (StatusCode::FORBIDDEN, "AuthorizationFailure"),
            R::NoPermission => (StatusCode::FORBIDDEN, "AuthorizationPermissionMismatch"),
            R::NotThisResourceType => (StatusCode::FORBIDDEN, "AuthorizationResourceTypeMismatch"),
            R::NotThisService => (StatusCode::FORBIDDEN, "AuthorizationServiceMismatch"),
            R::NotThisProtocol => (StatusCode::FORBIDDEN, "AuthorizationProtocolMismatch"),
            R::NotThisAddress => (StatusCode::FORBIDDEN, "AuthorizationSourceIPMismatch"),
            R::ReadOnly | R::SecondaryIsReadOnly => (StatusCode::FORBIDDEN, "InsufficientAccountPermissions"),
            R::NoCorsRule => (StatusCode::FORBIDDEN, "CorsPreflightFailure"),
            R::TableMissing => (StatusCode::NOT_FOUND, "TableNotFound"),
            R::Missing => (StatusCode::NOT_FOUND, "ResourceNotFound"),
            R::WrongVerb => (StatusCode::METHOD_NOT_ALLOWED, "UnsupportedHttpVerb"),
            R::TableExists => (StatusCode::CONFLICT, "TableAlreadyExists"),
            R::TableBeingDeleted => (StatusCode::CONFLICT, "TableBeingDeleted"),
            R::TableInUse(_) => (StatusCode::CONFLICT, "ResourceInUse"),
            R::EntityExists => (StatusCode::CONFLICT, "EntityAlreadyExists"),
            R::ConditionNotMet => (StatusCode::PRECONDITION_FAILED, "UpdateConditionNotSatisfied"),
            R::BodyTooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "RequestBodyTooLarge"),
            R::AtomNotSupported => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "AtomFormatNotSupported"),
            R::MediaNotSupported => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "MediaTypeNotSupported"),
            R::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "InternalError"),
            R::TimedOut => (StatusCode::INTERNAL_SERVER_ERROR, "OperationTimedOut"),
            R::NotImplemented => (StatusCode::NOT_IMPLEMENTED, "NotImplemented"),
            R::Busy => (StatusCode::SERVICE_UNAVAILABLE, "ServerBusy"),
        }
    }

    /// Whether the service names the code in a header too: it does where its own front door refuses.
    pub(crate) fn is_at_the_door(&self) -> bool {
        let (status, _) = self.code();
        matches!(status, StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED) || *self == Refusal::InvalidAuthentication
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::TableMissing(_) => Refusal::TableMissing,
            StoreError::TableExists(_) => Refusal::TableExists,
            StoreError::ReadOnly => Refusal::ReadOnly,
            StoreError::Unsupported(_) => Refusal::NotImplemented,
            StoreError::OutcomeUnknown(_) => told(&error, Refusal::TimedOut),
            StoreError::Unavailable(_)
            | StoreError::Throttled(_)
            | StoreError::DiskFull(_)
            | StoreError::ShuttingDown => told(&error, Refusal::Busy),
            StoreError::Unfit(_) | StoreError::Underived(_) | StoreError::Damaged { .. } | StoreError::Refused(_) => {
                told(&error, Refusal::Internal)
            }
        }
    }
}

/// What went wrong inside is for the log; a client learns whether it may ask again.
fn told(error: &StoreError, refusal: Refusal) -> Refusal {
    tracing::warn!(%error, "the store could not do what a client of the Table service's protocol asked for");
    refusal
}

impl From<Rejection> for Refusal {
    fn from(reason: Rejection) -> Self {
        match reason {
            Rejection::EntityExists => Refusal::EntityExists,
            Rejection::EntityMissing => Refusal::Missing,
            Rejection::ETagMismatch => Refusal::ConditionNotMet,
            Rejection::TooManyProperties { .. } => Refusal::TooManyProperties,
            Rejection::EntityTooLarge { .. } => Refusal::EntityTooLarge,
        }
    }
}

impl From<PropertyError> for Refusal {
    fn from(error: PropertyError) -> Self {
        match error {
            PropertyError::TooMany { .. } => Refusal::TooManyProperties,
            PropertyError::Value { .. } => Refusal::PropertyValueTooLarge,
            PropertyError::EntityTooLarge { .. } => Refusal::EntityTooLarge,
        }
    }
}

impl From<KeyError> for Refusal {
    fn from(error: KeyError) -> Self {
        match error {
            KeyError::IllegalCharacter { part, value, .. } => Refusal::KeyOutOfRange { part, value },
            KeyError::TooLong { .. } => Refusal::PropertyValueTooLarge,
        }
    }
}

impl From<NameError> for Refusal {
    fn from(error: NameError) -> Self {
        match error {
            NameError::Table(name) if (3..=63).contains(&name.chars().count()) => Refusal::InvalidResourceName,
            NameError::Table(_) => Refusal::ResourceNameLength,
            NameError::ReservedTable(_) => Refusal::InvalidResourceName,
            NameError::Property(name) if name.chars().count() > 255 => Refusal::PropertyNameTooLong,
            NameError::Property(_) | NameError::ReservedProperty(_) => Refusal::PropertyNameInvalid,
        }
    }
}

impl From<BatchError> for Refusal {
    fn from(error: BatchError) -> Self {
        match error {
            BatchError::OtherPartition { .. } => Refusal::OtherPartition,
            BatchError::DuplicateEntity(_) => Refusal::DuplicateRow,
            BatchError::TooManyOperations => Refusal::TooManyOperations,
            BatchError::TooLarge { .. } => Refusal::BodyTooLarge,
            BatchError::Entity { source, .. } => source.into(),
            BatchError::Empty => Refusal::InvalidInput,
        }
    }
}

/// The operation that a commit failed for, and why.
pub(crate) fn of_commit(error: CommitError) -> (usize, Refusal) {
    match error {
        CommitError::Rejected { index, reason, .. } => (index, reason.into()),
        CommitError::Store(error) => (0, error.into()),
    }
}
