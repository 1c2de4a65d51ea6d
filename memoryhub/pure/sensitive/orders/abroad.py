"""Patterns of instructions to a model in languages other than English."""

GERMAN = (
    (
        "ignorier|vergiss|vergess|missacht|verwirf|überspring",
        (
            r"(?:ignorier|vergiss|vergesst|vergessen sie|missacht|verwirf|"
            r"überspring)\w{0,20}\s{1,3}(?:sie\s{1,3})?(?:[\w,]{1,30}\s{1,3}){0,5}?(?:alle\w{0,20}|"
            r"vorherig\w{0,20}|bisherig\w{0,20}|obig\w{0,20}|früher\w{0,20}|vorangegangen\w{0,20}|vorig\w{0,20}|"
            r"dein\w{0,20}|sämtlich\w{0,20}|ursprünglich\w{0,20})\s{1,3}(?:\w{1,30}\s{1,3}){0,4}?(?:anweisung|"
            r"instruktion|regel|vorgabe|befehl|prompt|richtlinie|systemprompt)\w{0,20}"
        ),
    ),
    (
        "sag|erzähl|verrat|teil|melde |informier|erwähn|zeig",
        (
            r"(?:sag|sage|sagen sie|erzähl|erzähle|verrat|verrate|teile?|melde|informiere|erwähne|zeige?|"
            r"zeig)\s{1,3}(?:das\s{1,3}|dies\s{1,3}|es\s{1,3}|davon\s{1,3})?(?:dem|den|der|"
            r"gegenüber dem)\s{1,3}(?:nutzer|benutzer|anwender|user|menschen|betreiber|"
            r"administrator)\w{0,20}\s{1,3}(?:\w{1,30}\s{1,3}){0,4}?(?:nicht|nichts|niemals|nie|kein)\b"
        ),
    ),
    (
        "du musst |sie müssen |du sollst |der assistent |das modell |der agent ",
        (
            r"(?:du musst|sie müssen|du sollst|der assistent muss|das modell muss|der agent muss) (?:ab jetzt |"
            r"von nun an |nun )?(?:immer|stets|niemals|nie|unbedingt|sofort|ab jetzt|von nun an)\b"
        ),
    ),
    (
        "ab jetzt|ab sofort|von nun an",
        (
            r"(?:ab jetzt|ab sofort|von nun an),? (?:bist|wirst|musst|antwortest|sollst|handelst|ignorierst|"
            r"befolgst|darfst) du\b"
        ),
    ),
    (
        "ohne ",
        (
            r"ohne (?:es |das |dies )?(?:dem|den|der) (?:nutzer|benutzer|anwender|user|menschen)\w{0,20} (?:zu|"
            r"mitzu|davon|es|etwas|darüber|dar)"
        ),
    ),
    (
        "schick|send|übermitt|leite|lade ",
        (
            r"(?:schick|sende|übermittle|leite|lade)\w{0,20}\s{1,3}(?:\w{1,30}\s{1,3}){0,5}?(?:passwörter|"
            r"zugangsdaten|gesprächsverlauf|schlüssel|unterhaltung|geheimnisse)\s{1,3}(?:\w{1,30}\s{1,3}){0,3}?an\s"
        ),
    ),
    (
        "gib |zeig|verrat|nenn",
        r"(?:gib|zeig|verrat|nenn)\w{0,20}\s{1,3}(?:\w{1,30}\s{1,3}){0,2}?(?:deinen |den )?system-?prompt",
    ),
    (
        "hinweis |anweisung |nachricht |wichtig ",
        (
            r"(?:hinweis|anweisung|nachricht|wichtig) (?:an|für) (?:die |das |den |alle )?(?:ki|sprachmodell|"
            r"assistent|agent|modell)\w{0,20}"
        ),
    ),
)
FRENCH = (
    (
        "ignor|oubli|néglig|ne tien",
        (
            r"(?:ignor\w{0,20}|oubli\w{0,20}|néglig\w{0,20}|ne tien\w{0,20} (?:pas|"
            r"plus) compte d\w{0,20})\s{1,3}(?:[\w,’']{1,30}\s{1,3}){0,4}?(?:instructions?|consignes|règles|"
            r"directives|ordres)\s{1,3}(?:\w{1,30}\s{1,3})?(?:précédent\w{0,20}|antérieur\w{0,20}|ci-dessus|"
            r"initial\w{0,20}|système|reçu\w{0,20}|d'origine|existant\w{0,20})"
        ),
    ),
    (
        "ignor|oubli",
        (
            r"(?:ignor|oubli)(?:e|ez|er)\s{1,3}(?:toutes?|tous|tes|"
            r"vos)\s{1,3}(?:\w{1,30}\s{1,3}){0,2}?(?:instructions?|consignes|règles|directives|ordres)\b"
        ),
    ),
    (
        "ne |n inform|n avert|n en ",
        (
            r"n(?:e |['’])(?:le |la |les |lui |leur |l'|en )?(?:dis|dites|dire|révèle\w{0,20}|révélez|"
            r"mentionne\w{0,20}|informe\w{0,20}|préviens|prévenez|montre\w{0,20}|parle\w{0,20}|"
            r"signale\w{0,20})\s{0,3}(?:pas|rien|jamais)\s{1,3}(?:[\w']{1,30}\s{1,3}){0,4}?(?:à |aux |l)?(?:'|’|"
            r" )?(?:l'|l’)?utilisat\w{1,30}"
        ),
    ),
    (
        "tu dois |vous devez |l assistant |le modèle ",
        (
            "(?:tu dois|vous devez|l'assistant doit|le modèle doit) (?:désormais |maintenant )?(?:toujours|jamais|"
            "ne jamais|impérativement|absolument|immédiatement)"
        ),
    ),
    (
        "à partir de |désormais|dorénavant",
        (
            r"(?:à partir de maintenant|désormais|dorénavant),? (?:tu|vous|réponds|répondez|ignore|ignorez|agis|"
            r"agissez)\b"
        ),
    ),
    (
        "sans ",
        (
            r"sans (?:en |le |l')?(?:informer|dire|prévenir|avertir|demander|parler)\s{1,3}(?:rien )?(?:à )?(?:l'|"
            r"l’)utilisat\w{1,30}"
        ),
    ),
    (
        "envoi|transme|transfér",
        (
            r"(?:envoi\w{0,20}|transme\w{0,20}|"
            r"transfér\w{0,20})\s{1,3}(?:[\w']{1,30}\s{1,3}){0,5}?(?:mots de passe|identifiants|conversation|clés|"
            r"historique|secrets)\s{1,3}(?:[\w']{1,30}\s{1,3}){0,3}?(?:à|vers)\s"
        ),
    ),
    (
        "révèl|affich|montr|donne|répèt",
        (
            r"(?:révèle|affiche|montre|donne|répète)\w{0,20}(?:-moi)?\s{1,3}(?:[\w']{1,30}\s{1,3}){0,2}?(?:prompt|"
            r"invite|instructions?) (?:système|caché\w{0,20})"
        ),
    ),
)
SPANISH = (
    (
        "ignor|olvid|descart|omit|haz caso",
        (
            r"(?:ignor\w{0,20}|olvid\w{0,20}|descart\w{0,20}|omit\w{0,20}|"
            r"haz caso omiso de)\s{1,3}(?:\w{1,30}\s{1,3}){0,4}?(?:instrucciones|reglas|órdenes|indicaciones|"
            r"directrices|normas)\s{1,3}(?:\w{1,30}\s{1,3})?(?:anterior\w{0,20}|previ\w{0,20}|de arriba|"
            r"del sistema|original\w{0,20}|inicial\w{0,20}|precedente\w{0,20})"
        ),
    ),
    (
        "ignor|olvid|descarta",
        (
            r"(?:ignora|olvida|ignore|olvide|descarta)\s{1,3}(?:todas?|todos|tus|"
            r"sus)\s{1,3}(?:\w{1,30}\s{1,3}){0,2}?(?:instrucciones|reglas|órdenes|indicaciones|directrices|"
            r"normas)\b"
        ),
    ),
    (
        "no ",
        (
            r"no (?:se )?(?:le |lo |la |les )?(?:digas|diga|informes|informe|reveles|revele|menciones|mencione|"
            r"cuentes|cuente|avises|avise|muestres)\s{1,3}(?:\w{1,30}\s{1,3}){0,4}?(?:al|a la|a los|el|"
            r"del) usuari\w{1,30}"
        ),
    ),
    (
        "debes |tienes que |el asistente |el modelo |deberás ",
        (
            r"(?:debes|tienes que|el asistente debe|el modelo debe|deberás) (?:ahora )?(?:siempre|nunca|jamás|"
            r"obedecer|inmediatamente)\b"
        ),
    ),
    (
        "a partir de |desde ahora|de ahora en ",
        (
            r"(?:a partir de ahora|desde ahora|de ahora en adelante),? (?:eres|tú|debes|responde|ignora|actúa|"
            r"actúas|siempre|nunca|obedece)\b"
        ),
    ),
    (
        "sin ",
        (
            r"sin (?:decir(?:le|lo|selo)?|informar(?:le)?|avisar(?:le)?|preguntar(?:le)?|"
            r"que lo sepa)\s{1,3}(?:nada )?(?:al|a los|el) usuari\w{1,30}"
        ),
    ),
    (
        "envi|enví|transmit|reenv",
        (
            r"(?:env[ií]\w{0,20}|transmit\w{0,20}|reenv\w{0,20})\s{1,3}(?:\w{1,30}\s{1,3}){0,5}?(?:contraseñas|"
            r"credenciales|conversación|claves|historial|secretos)\s{1,3}(?:\w{1,30}\s{1,3}){0,3}?a\s"
        ),
    ),
    (
        "revela|muestra|repite|imprime",
        (
            r"(?:revela|muestra|repite|imprime)\w{0,20}\s{1,3}(?:\w{1,30}\s{1,3}){0,2}?(?:prompt|mensaje|"
            r"instrucciones) (?:del? sistema|ocult\w{0,20})"
        ),
    ),
)
PORTUGUESE_ITALIAN = (
    (
        "ignor|esque|desconsider|descart",
        (
            r"(?:ignor\w{0,20}|esque[cç]\w{0,20}|desconsider\w{0,20}|"
            r"descart\w{0,20})\s{1,3}(?:\w{1,30}\s{1,3}){0,4}?(?:instruções|regras|ordens|diretrizes|"
            r"orientações)\s{1,3}(?:\w{1,30}\s{1,3})?(?:anterior\w{0,20}|prévi\w{0,20}|acima|do sistema|originais|"
            r"iniciais)"
        ),
    ),
    (
        "não ",
        (
            r"não (?:o |a |lhe )?(?:diga|conte|informe|revele|mencione|avise|mostre|"
            r"fale)\s{1,3}(?:\w{1,30}\s{1,3}){0,4}?(?:ao|o|para o|aos|do) (?:usuário|utilizador)\w{0,20}"
        ),
    ),
    (
        "você deve |tu deves |o assistente ",
        r"(?:você deve|tu deves|o assistente deve) (?:sempre|nunca|agora|imediatamente)\b",
    ),
    (
        "a partir de |de agora em ",
        r"(?:a partir de agora|de agora em diante),? (?:você|responda|ignore|sempre|nunca|aja)\b",
    ),
    (
        "sem ",
        (
            r"sem (?:informar|avisar|contar|dizer|perguntar)\s{1,3}(?:nada )?(?:ao|o|aos) (?:usuário|"
            r"utilizador)\w{0,20}"
        ),
    ),
    (
        "ignor|dimentic|scart",
        (
            r"(?:ignor\w{0,20}|dimentic\w{0,20}|scart\w{0,20})\s{1,3}(?:\w{1,30}\s{1,3}){0,4}?(?:istruzioni|regole|"
            r"direttive|ordini)\s{1,3}(?:\w{1,30}\s{1,3})?(?:precedent\w{0,20}|di sistema|iniziali|originali|sopra|"
            r"ricevut\w{0,20})"
        ),
    ),
    (
        "non ",
        (
            r"non (?:dire|dirlo|rivelare|informare|menzionare|avvisare|mostrare|"
            r"raccontare)\s{1,3}(?:\w{1,30}\s{1,3}){0,4}?(?:all'|all’|l'|l’|agli )\s?utent\w{1,30}"
        ),
    ),
    (
        "devi |l assistente |da ora in ",
        (
            r"(?:devi|l'assistente deve) (?:sempre|mai|ora|subito)\b|da ora in poi,? (?:sei|devi|rispondi|ignora|"
            r"agisci)\b"
        ),
    ),
)
RUSSIAN = (
    (
        "игнорируй|проигнорируй|забудь|отбрось|не учитывай",
        (
            r"(?:игнорируй|проигнорируй|забудь|отбрось|"
            r"не учитывай)\w{0,20}\s{1,3}(?:\w{1,30}\s{1,3}){0,4}?(?:инструкци|указани|правил|команд)\w{0,20}"
        ),
    ),
    (
        "не ",
        (
            r"не (?:говори|сообщай|рассказывай|упоминай|показывай|"
            r"раскрывай)\w{0,20}\s{1,3}(?:\w{1,30}\s{1,3}){0,4}?пользовател\w{1,30}"
        ),
    ),
    (
        "ты должен |вы должны |с этого ",
        r"(?:ты должен|вы должны) (?:всегда|никогда|немедленно)\b|с этого момента,? (?:ты|вы)\b",
    ),
)
JAPANESE_CHINESE = (
    (
        r"(?:以前|これまで|上記|前述|今まで|すべて|全て|あらゆる|元|先ほど|従来|前)(?:の)?[^。，、\n]{0,10}(?:指示|命令|ルール|"
        r"プロンプト|制約|指令|規則)[^。，、\n]{0,6}(?:無視|忘れ|破棄|従わな)"
    ),
    (
        r"ユーザー?(?:に|には|へ)[^。，、\n]{0,16}(?:言わないで|伝えないで|教えないで|知らせないで|話さないで|言うな|伝えるな|教えるな|"
        r"知らせるな|言ってはいけ|伝えてはいけ|秘密に|内緒に|知らせずに|伝えずに|言わずに)"
    ),
    (
        r"(?:あなた|アシスタント|モデル|エージェント|AI|ai)(?:は|が)(?:今から|これから|今後|常に|必ず|絶対に|"
        r"いかなる)[^。，、\n]{0,30}(?:なければならない|なければなりません|べきです|べきだ|しなさい|せよ|こと|です|する)"
    ),
    r"システムプロンプト[^。，、\n]{0,8}(?:表示|出力|教え|開示|公開|漏ら)",
    (
        r"(?:忽略|无视|無視|忘记|忘記|不要理会|抛弃)[^。，、\n]{0,8}(?:之前|以上|先前|所有|前面|上述|此前|"
        r"一切)[^。，、\n]{0,8}(?:指令|指示|提示|规则|規則|命令|要求|说明)"
    ),
    r"(?:不要|别|切勿|禁止|请勿)(?:告诉|告訴|告知|通知|让|向|透露给|提醒)[^。，、\n]{0,6}(?:用户|使用者|用戶)",
    r"(?:从现在开始|從現在開始|从现在起)[，,]?(?:你|您)(?:是|必须|将|要|不再)|你必须(?:始终|总是|永远|立即)",
    (
        r"(?:이전|위의|모든)[^.\n]{0,8}(?:지시|명령|규칙|지침)[^.\n]{0,6}무시|사용자에게[^.\n]{0,12}(?:말하지|"
        r"알리지|알려주지)\s?마"
    ),
)
