"""A table of patterns of English instructions to a model, and `Rows`, the type of such a table."""

Rows = tuple[tuple[str, str], ...]
PARTS = {
    "<gap>": r"(?:[\w'’-]{1,30}\s{1,3}){0,5}?",
    "<earlier>": "(?:previous|prior|above|earlier|preceding|existing|original|initial|all|any|every|your|system|safety|"
    "developer|everything)",
    "<said>": "(?:instructions?|prompts?|rules?|guidelines?|directives?|directions|orders|commands|constraints|"
    "restrictions|guidance|policies|programming|safeguards|guardrails|messages?|context)",
    "<theirs>": "(?:instructions?|prompts?|rules?|guidelines?|directives?|directions|orders|commands|constraints|"
    "restrictions|safety|policies|training|context|programming|safeguards|guardrails)",
    "<person>": "(?:the |any |your )?(?:users?|human|humans|operator|owner|person|people|developers?|"
    "admin(?:istrator)?s?|anyone|anybody|them|reviewers?)",
}
"""Parts that the patterns share. Every repetition in them is bounded, so that no text makes one slow."""

# Rows of (beginnings, pattern of the instruction); in beginnings each word follows a space, without punctuation.
ENGLISH = (
    (
        "pay no |pay zero |take no |give no |do not |don t |never |must not |should not |stop |cease |no longer ",
        (
            r"(?:(?:pay|take|give) (?:no|zero) (?:attention|heed|notice|regard|weight) (?:to|of)|(?:do not|don't|never|"
            r"must not|should not|no longer)\s{1,3}(?:ever\s{1,3})?(?:obey|heed|listen to|pay attention to|comply with|"
            r"abide by|adhere to|follow(?= your))|(?:stop|cease) "
            r"(?:obeying|heeding|following|listening to|complying with))"
            r"\s{1,3}<gap><earlier>\s{1,3}<gap><said>\b"
        ),
    ),
    (
        "neglect|set aside |throw away |throw out |discard|erase |wipe |dismiss |abandon ",
        (
            r"(?:neglect(?:ing)?|set aside|throw (?:away|out)|discard|erase|wipe|dismiss|abandon)"
            r"\s{1,3}<gap>(?:previous|prior|above|earlier|preceding|foregoing|your (?:original |initial |earlier )?)"
            r"\s{0,3}<gap>(?:instructions?|prompts?|directives?|guidelines|programming|guidance)\b"
        ),
    ),
    (
        "ignor|disregard|overlook |skip |bypass|circumvent |evade |overrid|disable |turn off ",
        (
            r"(?:ignor(?:e|ing)|disregard(?:ing)?|overlook|skip|bypass(?:ing)?|circumvent|evade|override|disable|"
            r"turn off)\s{1,3}(?:all |any |every )?(?:of )?(?:your|the model's|the assistant's|its own)\s{1,3}<gap>"
            r"(?:filters?|limitations?|protocols?|moderation|measures|ethics|principles|boundaries|directives?|instructions?)\b"
        ),
    ),
    (
        "ignor|disregard|forget",
        (
            r"(?:ignor(?:e|ing)|disregard(?:ing)?|forget)\s{1,3}<gap>(?:previous|prior|preceding|foregoing|earlier|above)"
            r"\s{1,3}<gap>(?:conversations?|inputs?|information|content|assignments?|tasks?|requests?|statements?|"
            r"guidance|documents?|messages?|dialogue|text)\b"
            r"(?= (?:and|but|now|instead|then|from|you|completely|entirely))"
        ),
    ),
    (
        "repeat |print |output |write |say |display |recite |echo |copy |tell me |translate |summarize |summarise ",
        (
            r"(?:repeat|print|output|write|say|display|recite|echo|copy|tell me|translate|summari[sz]e)(?: out| back)?"
            r"\s{1,3}(?:me )?(?:verbatim )?(?:all |everything |every word |exactly )?(?:of )?"
            r"(?:the |your |these |what )?(?:words?|text|sentences?|content|everything|lines?|instructions?|prompts?|"
            r"rules|tokens|is|was|all|written)\s{1,3}(?:that (?:is|was|are|were|came|come|you were given)\s{1,3})?"
            r"(?:written |given |said |stated )?"
            r"(?:above|before this|prior to this|preceding this|you were given|starting with you are)\b"
        ),
    ),
    (
        "ignor|disregard|forget|overrid|bypass|discard",
        (
            r"(?:ignor(?:e|ing)|disregard(?:ing)?|forget|override|bypass|"
            r"discard)\s{1,3}<gap><earlier>\s{1,3}<gap><theirs>\b(?!\s{1,3}(?:quote|file|output|warning|page|"
            r"manual|sheet|wizard))"
        ),
    ),
    (
        "ignor|disregard|forget",
        (
            r"(?:ignore|disregard|forget)\s{1,3}(?:everything|all(?: of)?(?: that| this)?)\s{1,3}(?:that |"
            r"which )?(?:you|was|i|came|said|before|above|has)\b"
        ),
    ),
    (
        "do not |don t |never |must not |mustn t |should not |shouldn t |not to ",
        (
            r"(?:do not|don't|never|must not|mustn't|should not|shouldn't|not to)\s{1,3}(?:ever\s{1,3})?(?:tell|"
            r"inform|notify|alert|warn|let)\s{1,3}<person>\b(?:\s{1,3}(?:know|about|that|of|anything|this|what|"
            r"why))?"
        ),
    ),
    (
        "do not |don t |never |must not |mustn t |should not |shouldn t |not to ",
        (
            r"(?:do not|don't|never|must not)\s{1,3}(?:ever\s{1,3})?(?:reveal|disclose|mention|repeat|show|share|"
            r"admit|acknowledge)\s{1,3}(?:to \w{1,30} (?:user )?)?(?:(?:the|your|that|this|these|any of these|it|"
            r"about)\s{1,3}){1,2}(?:memory|memories|instructions?|prompts?|messages?|system|directives?|rules?|to|"
            r"you)\b"
        ),
    ),
    (
        "without ",
        (
            r"without\s{1,3}(?:ever\s{1,3})?(?:telling|informing|asking|notifying|alerting|mentioning (?:it|"
            r"this) to|(?:the )?(?:knowledge|consent|approval) of)\s{1,3}<person>\b"
        ),
    ),
    (
        (
            "you must |you shall |you will |the assistant |the model |the agent |the ai |all agents |"
            "all assistants |all models "
        ),
        (
            r"(?:you|the (?:assistant|model|agent|ai)|all (?:agents|assistants|models))\s{1,3}(?:must|shall|"
            r"will now|will henceforth)\s{1,3}(?:always(?! be )|never|now|only|immediately|comply|obey|first send|"
            r"not tell)\b"
        ),
    ),
    (
        "from now on",
        r"from now on,?\s{1,3}(?:you|act|always|never|ignore|respond|answer|reply|treat|all your|your)\b",
    ),
    (
        "you are now ",
        (
            r"you are now\s{1,3}(?:an? \w{1,30} (?:ai|assistant|model|agent|bot)|(?:in )?(?:developer|dan|god|"
            r"debug|admin|unrestricted|jailbreak|maintenance)\b(?: mode)?|dan\b|no longer|free from|"
            r"an? (?:unrestricted|unfiltered|evil|different))"
        ),
    ),
    (
        "act as |behave as |respond as ",
        (
            r"(?:act|behave|respond) as (?:if you (?:were|are|have no)|an? (?:unrestricted|unfiltered|jailbroken|"
            r"uncensored)|dan\b|root\b)"
        ),
    ),
    (
        "pretend ",
        (
            "pretend (?:that )?(?:you|to be) (?:are |have |were )?(?:an? )?(?:no |not |unrestricted|unfiltered|"
            "the (?:system|admin|developer))"
        ),
    ),
    (
        "your new |your real |your true |your actual |your only |your secret |your hidden ",
        (
            "your (?:new|real|true|actual|only|secret|hidden) (?:instructions?|task|goal|objective|purpose|mission|"
            "role|directive)s? (?:is|are|:)"
        ),
    ),
    (
        "new instruction|new system |new directive|new prompt",
        (
            "new (?:system )?(?:instructions?|directives?|prompt)(?: for (?:the |all )?(?:assistants?|models?|"
            "agents?|ais?))?:"
        ),
    ),
    (
        "important |attention |note to |note for |message to |message for |instruction",
        (
            r"(?:important )?(?:attention|important|note|message|instructions?) (?:to|for) (?:the |all |"
            r"any )?(?:ai|llm|language model|model|assistant|agent|claude|chatgpt|gpt)s?\b(?! (?:railway|team|kit|"
            r"train))"
        ),
    ),
    (
        "if you |when you |because you |since you ",
        (
            r"(?:if|when|because|since) you(?:'re| are) an? (?:ai|llm|language model|large language model|"
            r"assistant|automated agent)\b"
        ),
    ),
    (
        "when |if you |if the |if a|once |after you |after the |before you |whenever ",
        (
            r"(?:when|if|once|after|before|whenever) (?:you|the (?:assistant|model|agent|ai)|an? (?:assistant|"
            r"model|agent|ai|llm)) (?:reads?|sees?|loads?|process(?:es)?|finds?|views?) this(?:"
            r" (?:memory|message|text|line|instruction|entry|note|prompt)\b|(?=[,.:;]))"
        ),
    ),
    (
        "reveal |print |repeat |output |leak |dump |show |expose |send",
        (
            r"(?:reveal|print|repeat|output|leak|dump|show|expose|send)\s{1,3}(?:me\s{1,3})?(?:your|the full|"
            r"the entire|the hidden|the)\s{1,3}(?:entire |full |hidden |original )?(?:system prompt|system message|"
            r"hidden instructions|initial instructions|developer message)\b"
        ),
    ),
    (
        "secretly |silently |covertly |quietly |discreetly |surreptitiously ",
        (
            r"(?:secretly|silently|covertly|quietly|discreetly|surreptitiously)\s{1,3}(?:send|forward|upload|copy|"
            r"exfiltrate|e-?mail|add|include|insert|post|append|run|execute|change|replace|delete|record|log)\b"
        ),
    ),
    (
        "send|forward |upload |post |email |e mail |exfiltrate |leak |transmit |copy ",
        (
            r"(?:send|forward|upload|post|e-?mail|exfiltrate|leak|transmit|copy)\s{1,3}<gap>(?:conversation|"
            r"chat history|history|credentials|api keys?|passwords?|secrets|tokens|env(?:ironment)? variables|"
            r"memories|private keys?|cookies|\.env|user data|personal data)\s{1,3}<gap>to\s{1,3}(?:https?://|"
            r"\S{1,64}@|the following|this (?:address|url|server|endpoint))"
        ),
    ),
    (
        "exfiltrate ",
        r"exfiltrate\b",
    ),
    (
        "this instruction|this message|this memory|this note|this rule|this directive|this prompt",
        (
            "this (?:instruction|message|memory|note|rule|directive|prompt)s? (?:overrides?|supersedes?|"
            "takes? precedence|outranks?|has (?:the )?(?:highest|top) priority)"
        ),
    ),
    (
        "treat th|consider th|regard th",
        (
            r"(?:treat|consider|regard) (?:this|the following|these) (?:\w{1,30} )?as (?:an? |the |"
            r"your )?(?:highest|top|system|trusted|absolute|new)[- ](?:priority|instruction|prompt|message|level|"
            r"rule)"
        ),
    ),
    (
        "keep th|keep it |hide th|hide it ",
        (
            r"(?:keep|hide) (?:this|it|these|the following) (?:\w{1,30} )?(?:secret |hidden |"
            r"private )?from (?:the )?(?:user|human|operator|owner|admin|reviewer)"
        ),
    ),
    (
        "do not |don t |never |must not |mustn t |should not |shouldn t |not to |stop ",
        (
            r"(?:do not|don't|never|stop) (?:follow|obey|apply|respect)(?:ing)? (?:the |any |your |"
            r"all )?(?:\w{1,30} )?(?:safety|system|previous|developer|content|original) (?:rules|guidelines|"
            r"instructions?|prompt|polic(?:y|ies))"
        ),
    ),
    (
        "disable ",
        "disable (?:all |any |your )?(?:safety|content|security) (?:filters?|checks?|rules|guidelines|guardrails)",
    ),
)
